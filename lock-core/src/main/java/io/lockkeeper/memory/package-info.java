/* SPDX-License-Identifier: Apache-2.0 */
/** A lock store inside the JVM, for tests and for applications that run as one process. */
@NullMarked
package io.lockkeeper.memory;

import org.jspecify.annotations.NullMarked;
