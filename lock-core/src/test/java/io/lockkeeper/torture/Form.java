/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

/** The ways in which a {@link TortureThread} asks for a lock. */
enum Form {
    EXCLUSIVE,
    FAIR,
    READ,
    WRITE,
    SEVERAL_NAMES,
    FIXED_LEASE,
    EXTENDED_LEASE,
    TRY,
    RETRIES,
    MINIMUM_HOLD,
    ASYNC,
    CANCELLED,
    INTERRUPTED,
    RUN,
    VIEW,
    DOWNGRADE
}
