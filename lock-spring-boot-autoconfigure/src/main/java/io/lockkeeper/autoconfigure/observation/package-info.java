/* SPDX-License-Identifier: Apache-2.0 */
/** Metrics and observations of locks, for Micrometer. */
@NullMarked
package io.lockkeeper.autoconfigure.observation;

import org.jspecify.annotations.NullMarked;
