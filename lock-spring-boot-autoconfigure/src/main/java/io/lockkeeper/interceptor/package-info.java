/* SPDX-License-Identifier: Apache-2.0 */
/** From a call of an annotated method to a lock: what the annotation means, resolved once for each method. */
@NullMarked
package io.lockkeeper.interceptor;

import org.jspecify.annotations.NullMarked;
