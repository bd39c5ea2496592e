/* SPDX-License-Identifier: Apache-2.0 */
/** The page on which one sees the sale: what it shows, gathered from all instances, and the stream that carries it. */
@NullMarked
package io.lockkeeper.sample.board;

import org.jspecify.annotations.NullMarked;
