/* SPDX-License-Identifier: Apache-2.0 */
/** The annotation that puts a method under a distributed lock. */
@NullMarked
package io.lockkeeper.annotation;

import org.jspecify.annotations.NullMarked;
