/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.ClaimMode;
import java.util.List;

/**
 * A command of a random sequence. The same object stands for all copies of one message: what it carries is settled when
 * it runs for the first time.
 */
sealed interface ModelCommand {

    /** The attempt that asks; empty where nobody does. */
    String by();

    /** The locks that it is about, in the order in which the script gets their keys. */
    List<String> names();

    /**
     * An attempt of a client, and what it asks for in each of its commands.
     *
     * @param id the client's 12 characters and a number of 8
     * @param names the locks
     * @param mode how it wants to hold them
     * @param leaseMillis for how long
     * @param aliveMillis how long its place in the queue is kept; 0: it does not wait
     * @param grantMillis how long a grant lasts
     * @param tokens how many fencing tokens it reserves
     */
    record Asker(
            String id,
            List<String> names,
            ClaimMode mode,
            long leaseMillis,
            long aliveMillis,
            long grantMillis,
            int tokens) {}

    /** Asks for locks, or asks again; {@code sent} in us, {@code notAfter} in ms. */
    record Acquire(Asker asker, long sent, long notAfter) implements ModelCommand {

        @Override
        public String by() {
            return asker.id;
        }

        @Override
        public List<String> names() {
            return asker.names;
        }
    }

    /**
     * Ends what an attempt has.
     *
     * @param asker the attempt
     * @param used how many of its tokens were used; -1: what is reserved stays so
     * @param keepMillis how long the locks stay taken
     */
    record Release(Asker asker, int used, long keepMillis) implements ModelCommand {

        @Override
        public String by() {
            return asker.id;
        }

        @Override
        public List<String> names() {
            return asker.names;
        }
    }

    /** Ends one attempt and begins another; {@code used} as in a release. */
    record HandOver(Asker asker, int used, Asker next, long notAfter, boolean ahead) implements ModelCommand {

        @Override
        public String by() {
            return asker.id;
        }

        @Override
        public List<String> names() {
            return asker.names.subList(0, 1);
        }
    }

    /**
     * One of the holds that a command renews.
     *
     * @param attempt who holds it
     * @param name the lock
     * @param leaseMillis how long it lasts from now on
     * @param exact whether exactly so long
     * @param raise by how much the token must be above that of the record at the first run; 0: any will do
     */
    record Renewal(String attempt, String name, long leaseMillis, boolean exact, int raise) {}

    /** Renews several holds at once. */
    record Renew(List<Renewal> renewals) implements ModelCommand {

        @Override
        public String by() {
            return "";
        }

        @Override
        public List<String> names() {
            return renewals.stream().map(Renewal::name).toList();
        }
    }

    /** Takes a lock away from all who hold it. */
    record Revoke(String name) implements ModelCommand {

        @Override
        public String by() {
            return "";
        }

        @Override
        public List<String> names() {
            return List.of(name);
        }
    }

    /** Looks at a lock. */
    record Inspect(String name) implements ModelCommand {

        @Override
        public String by() {
            return "";
        }

        @Override
        public List<String> names() {
            return List.of(name);
        }
    }

    /** A moment of the server's clock at which one copy of a command arrives. */
    record Step(long micros, ModelCommand command) {

        long millis() {
            return micros / 1_000;
        }
    }
}
