/* SPDX-License-Identifier: Apache-2.0 */
/** Scripts and connections of Jedis. Internal: may change in any release. */
@NullMarked
package io.lockkeeper.redis.jedis;

import org.jspecify.annotations.NullMarked;
