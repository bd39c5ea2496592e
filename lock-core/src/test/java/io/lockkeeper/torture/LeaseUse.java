/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What is done under a lease: each of its numbers in the register is read and, some time later, counted up. Nobody
 * looks whether the lease is held in between: the register has to see to that.
 */
final class LeaseUse {

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final RegisterClient register;
    private final Recorder recorder;
    private final Random random;
    private final long leaseNanos;

    LeaseUse(RegisterClient register, Recorder recorder, Random random, long leaseNanos) {
        this.register = register;
        this.recorder = recorder;
        this.random = random;
        this.leaseNanos = leaseNanos;
    }

    void use(String id, LockLease lease) {
        for (String name : lease.names()) {
            long token = lease.fencingToken(name);
            OptionalLong read = register.read(name, token);
            work(id, lease, workNanos() / lease.names().size());
            if (lease.mode() != LockMode.READ && read.isPresent()) {
                register.write(name, token, read.getAsLong() + 1);
            }
        }
    }

    /** Mostly quick; sometimes long enough to need renewals. */
    private long workNanos() {
        int kind = random.nextInt(100);
        if (kind < 75) {
            return TimeUnit.MILLISECONDS.toNanos(random.nextInt(12));
        }
        return kind < 96 ? TimeUnit.MILLISECONDS.toNanos(50 + random.nextInt(150)) : random.nextLong(2 * leaseNanos);
    }

    private void work(String id, LockLease lease, long nanos) {
        long end = System.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(Math.min(left, LOOK_NANOS));
            if (Thread.currentThread().isInterrupted()) {
                return;
            }
            recorder.still(id, lease);
        }
    }
}
