/** Real servers, real processes and a faulty network for the tests of all modules. */
@NullMarked
package io.lockkeeper.testing;

import org.jspecify.annotations.NullMarked;
