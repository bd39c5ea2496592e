/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

/**
 * Whether the stack of the present thread has room for a step of the engine. A StackOverflowError in the middle of a
 * step, perhaps inside a collection of the JDK, would leave it half done; one before the step has no effect.
 */
final class StackRoom {

    /** About 8 KB of stack for compiled code, and more for interpreted code, whose steps need more, too. */
    private static final int LEVELS = 96;

    /** An acquisition needs room for its release as well, which may be called a few frames further down. */
    private static final int LEVELS_TO_BEGIN = 144;

    private StackRoom() {}

    static boolean isEnough() {
        try {
            requireToEnd();
            return true;
        } catch (StackOverflowError none) {
            return false;
        }
    }

    /** Throws a StackOverflowError where an acquisition and its release find no room. */
    static void requireToBegin() {
        descend(LEVELS_TO_BEGIN, 1, 2, 3, 4, 5, 6, 7, 8);
    }

    /** Throws a StackOverflowError where a step finds no room. */
    static void requireToEnd() {
        descend(LEVELS, 1, 2, 3, 4, 5, 6, 7, 8);
    }

    /** The arguments are needed after the call, so that each level takes its part of the stack. */
    private static long descend(int levels, long a, long b, long c, long d, long e, long f, long g, long h) {
        return levels == 0 ? a : descend(levels - 1, a, b, c, d, e, f, g, h) + (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h);
    }
}
