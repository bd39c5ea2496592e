/* SPDX-License-Identifier: Apache-2.0 */
/** A lock provider for ShedLock. */
@NullMarked
package io.lockkeeper.shedlock;

import org.jspecify.annotations.NullMarked;
