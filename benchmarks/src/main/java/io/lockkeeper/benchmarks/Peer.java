/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

/** A library that is compared: one client of one Redis, in one JVM. */
interface Peer extends AutoCloseable {

    /** Waits for the lock, runs a body under it, and releases it. Every name may be locked by any thread. */
    void underLock(String name, Runnable body) throws Exception;
}
