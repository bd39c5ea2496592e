/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

/** What does not work of a store. */
enum Failing {
    EVERYTHING,
    EVERYTHING_IN_SILENCE,
    RENEWALS,
    WAITS
}
