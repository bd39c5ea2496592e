/** Distributed locks: what to lock, how to run under a lock, and how it fails. */
@NullMarked
package io.lockkeeper;

import org.jspecify.annotations.NullMarked;
