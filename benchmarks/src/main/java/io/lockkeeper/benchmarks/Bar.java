/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

/**
 * A bar of a plot.
 *
 * @param label what it stands for
 * @param median how long it is
 * @param least where its line begins
 * @param most where its line ends
 * @param ours whether it has the colour of Lockkeeper
 */
record Bar(String label, double median, double least, double most, boolean ours) {

    static Bar of(Figures figures) {
        return new Bar(
                figures.peer.title(),
                figures.median(Outcome::perSecond),
                figures.smallest(Outcome::perSecond),
                figures.largest(Outcome::perSecond),
                figures.peer.name().startsWith("LOCKKEEPER"));
    }

    /** Returns a bar without a line. */
    static Bar single(String label, double length, boolean ours) {
        return new Bar(label, length, length, length, ours);
    }
}
