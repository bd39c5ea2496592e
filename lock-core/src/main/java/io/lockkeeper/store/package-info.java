/* SPDX-License-Identifier: Apache-2.0 */
/** The service provider interface: what a lock store must do for the engine. */
@NullMarked
package io.lockkeeper.store;

import org.jspecify.annotations.NullMarked;
