/* SPDX-License-Identifier: Apache-2.0 */
/** Locks of several processes under faults drawn at random, and a checker of what these processes have seen. */
@NullMarked
package io.lockkeeper.torture;

import org.jspecify.annotations.NullMarked;
