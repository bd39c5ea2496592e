/* SPDX-License-Identifier: Apache-2.0 */
/** The database and the Redis of the sample, started where none answers; nothing here is needed to use Lockkeeper. */
@NullMarked
package io.lockkeeper.sample.servers;

import org.jspecify.annotations.NullMarked;
