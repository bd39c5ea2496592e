/* SPDX-License-Identifier: Apache-2.0 */
/** Scripts and connections of Lettuce. Internal: may change in any release. */
@NullMarked
package io.lockkeeper.redis.lettuce;

import org.jspecify.annotations.NullMarked;
