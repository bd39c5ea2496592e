/* SPDX-License-Identifier: Apache-2.0 */
/** A flash sale whose stock two instances sell at the same time: with a lock, without one, and with a fencing token. */
@NullMarked
package io.lockkeeper.sample;

import org.jspecify.annotations.NullMarked;
