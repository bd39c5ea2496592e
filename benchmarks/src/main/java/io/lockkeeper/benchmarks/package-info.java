/* SPDX-License-Identifier: Apache-2.0 */
/** Measurements: annotated calls with JMH, and all peers side by side. */
@NullMarked
package io.lockkeeper.benchmarks;

import org.jspecify.annotations.NullMarked;
