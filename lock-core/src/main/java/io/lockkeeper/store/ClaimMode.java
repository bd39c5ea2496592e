/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/** How an attempt wants to hold a lock. The constants have the names of those of {@code io.lockkeeper.LockMode}. */
public enum ClaimMode {
    /** One holder. */
    EXCLUSIVE,
    /** One holder, served strictly in the order of arrival. */
    FAIR,
    /** Any number of holders, as long as there is no writer. */
    READ,
    /** One holder, and no reader beside it. */
    WRITE
}
