/* SPDX-License-Identifier: Apache-2.0 */
/** What every lock store must do, as a suite of tests that each store passes. */
@NullMarked
package io.lockkeeper.contract;

import org.jspecify.annotations.NullMarked;
