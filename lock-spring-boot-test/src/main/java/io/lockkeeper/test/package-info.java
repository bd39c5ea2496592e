/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests of applications that use Lockkeeper: what their services do when a lock is lost, taken by another instance,
 * or out of reach. Works with the store in memory ({@code lockkeeper.store=memory}) and with Redis alike.
 */
@NullMarked
package io.lockkeeper.test;

import org.jspecify.annotations.NullMarked;
