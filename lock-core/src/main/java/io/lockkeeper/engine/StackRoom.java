/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

/**
 * Whether the stack of the present thread has room for a step of the engine. A StackOverflowError in the middle of one,
 * perhaps inside a collection of the platform, would leave something half done; one that comes before has no effect.
 */
final class StackRoom {

    /** Some 8 KB of compiled code, and more where code is interpreted, as the steps need more then. */
    private static final int LEVELS = 96;

    /** What begins must find room for its end, too, which may be called from a few frames further down. */
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
