/* SPDX-License-Identifier: Apache-2.0 */
/** The TLA+ models of the protocol, checked by TLC. */
@NullMarked
package io.lockkeeper.model;

import org.jspecify.annotations.NullMarked;
