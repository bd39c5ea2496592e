/* SPDX-License-Identifier: Apache-2.0 */
/** The lock store on Redis: its scripts, the seam to the driver and the grant channel. */
@NullMarked
package io.lockkeeper.redis;

import org.jspecify.annotations.NullMarked;
