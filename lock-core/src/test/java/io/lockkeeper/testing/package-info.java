/* SPDX-License-Identifier: Apache-2.0 */
/** A real Redis, a faulty network in front of it and further JVMs, for tests. */
@NullMarked
package io.lockkeeper.testing;

import org.jspecify.annotations.NullMarked;
