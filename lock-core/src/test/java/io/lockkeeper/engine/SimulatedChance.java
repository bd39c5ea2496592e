/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

/**
 * What is drawn from the seed while a history runs. Each kind of thing has draws of its own, so that a step which is
 * taken out changes the fate of as few others as can be.
 */
final class SimulatedChance {

    static final int ACQUIRE = 0;
    static final int HAND_OVER = 1;
    static final int RELEASE = 2;
    static final int RENEW = 3;
    static final int LOOK = 4;
    static final int MESSAGE = 5;
    static final int JITTER = 6;
    static final int TASK = 7;
    static final int CALLER = 8;
    private static final int KINDS = 9;
    private static final int NAMES = 4;
    private static final int INSTANCES = 4;

    private final long seed;
    private final long[] drawn = new long[INSTANCES * KINDS * NAMES];

    SimulatedChance(long seed) {
        this.seed = seed;
    }

    /** Returns the next draws of one kind. */
    Draw draw(int instance, int kind, int name) {
        int place = (instance * KINDS + kind) * NAMES + name;
        return new Draw(mix(seed * 31 + place) + drawn[place]++ * 0x9E3779B97F4A7C15L);
    }

    private static long mix(long bits) {
        long mixed = (bits ^ (bits >>> 30)) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
        return mixed ^ (mixed >>> 31);
    }

    /** A few numbers. */
    static final class Draw {

        private long state;

        private Draw(long state) {
            this.state = state;
        }

        long below(long bound) {
            state += 0x9E3779B97F4A7C15L;
            return bound <= 1 ? 0 : (mix(state) >>> 1) % bound;
        }

        boolean percent(int percent) {
            return percent > 0 && below(100) < percent;
        }
    }
}
