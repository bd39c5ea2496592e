/* SPDX-License-Identifier: Apache-2.0 */
/** A lock registry for Spring Integration. */
@NullMarked
package io.lockkeeper.integration;

import org.jspecify.annotations.NullMarked;
