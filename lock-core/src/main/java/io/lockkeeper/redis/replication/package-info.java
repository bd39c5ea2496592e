/* SPDX-License-Identifier: Apache-2.0 */
/** Scripts whose writes must be on replicas. Internal: may change in any release. */
@NullMarked
package io.lockkeeper.redis.replication;

import org.jspecify.annotations.NullMarked;
