/* SPDX-License-Identifier: Apache-2.0 */
/** Who among the callers inside one JVM has a lock, and until when. */
@NullMarked
package io.lockkeeper.engine;

import org.jspecify.annotations.NullMarked;
