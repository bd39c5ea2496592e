/* SPDX-License-Identifier: Apache-2.0 */
/** Locks of annotated methods that are woven into their classes, for {@code lockkeeper.mode=aspectj}. */
@NullMarked
package io.lockkeeper.weaving;

import org.jspecify.annotations.NullMarked;
