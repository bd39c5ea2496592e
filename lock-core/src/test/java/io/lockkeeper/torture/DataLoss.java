/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

/**
 * A time in which servers lost what workers believed.
 *
 * @param from when it began, on the shared clock
 * @param to after when nothing more was lost
 * @param harm what that may do to locks
 */
record DataLoss(long from, long to, Disaster.Harm harm) {

    boolean is(Disaster.Harm other) {
        return harm == other;
    }
}
