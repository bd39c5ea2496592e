@NullMarked
package io.lockkeeper.test;

import org.jspecify.annotations.NullMarked;
