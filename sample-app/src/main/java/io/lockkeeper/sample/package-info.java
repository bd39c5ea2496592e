/** A flash-sale shop that sells from a limited stock under a lock. */
@NullMarked
package io.lockkeeper.sample;

import org.jspecify.annotations.NullMarked;
