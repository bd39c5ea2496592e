/* SPDX-License-Identifier: Apache-2.0 */
/** A store over independent masters: a lock is held where a majority of them agrees. */
@NullMarked
package io.lockkeeper.quorum;

import org.jspecify.annotations.NullMarked;
