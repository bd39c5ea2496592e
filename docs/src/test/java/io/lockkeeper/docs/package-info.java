/** Tests of the documentation. */
@NullMarked
package io.lockkeeper.docs;

import org.jspecify.annotations.NullMarked;
