/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From a call of an annotated method to a lock. {@code MethodLockSpec} is what the annotation means, resolved once for
 * each method. Around it stand three families: {@code Name*} makes lock names of expressions and arguments,
 * {@code *Check} says at the start what cannot work, and {@code LockedCall} and {@code *Execution} run a call as its
 * kind of result requires.
 */
@NullMarked
package io.lockkeeper.interceptor;

import org.jspecify.annotations.NullMarked;
