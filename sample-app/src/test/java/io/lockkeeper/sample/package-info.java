/* SPDX-License-Identifier: Apache-2.0 */
/** The shop as its customers see it: over HTTP, as one instance and as two. */
@NullMarked
package io.lockkeeper.sample;

import org.jspecify.annotations.NullMarked;
