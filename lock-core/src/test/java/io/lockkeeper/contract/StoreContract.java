/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A part of what every store must do, seen through templates. Each template of a test is an instance of its own. */
abstract class StoreContract {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    /** The lease of the instances. */
    protected static final Duration LEASE = Duration.ofSeconds(30);

    /** Longer than anything may take, also on a slow machine, that does not wait for a lease or a grant to end. */
    protected static final Duration SOON = LEASE.dividedBy(3);

    /** A wait that ends in vain, and within which also a slow machine has the store's answer. */
    protected static final Duration BRIEFLY = Duration.ofMillis(500);

    /** A lease of which a renewal comes soon. */
    private static final Duration BRIEF = Duration.ofSeconds(6);

    protected final RecordingListener events = new RecordingListener();
    private final List<LockTemplate> templates = new ArrayList<>();
    protected String name = "";

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    /** Returns a new store over the same locks, for a lease that is too short for the times of the other. */
    protected LockStore storeOfBriefLeases() {
        return store();
    }

    @BeforeEach
    void nameTheLock(TestInfo test) {
        name = test.getDisplayName() + " {" + System.nanoTime() + "}";
    }

    @AfterEach
    void close() {
        templates.forEach(LockTemplate::close);
    }

    /** Returns a new instance. */
    protected LockTemplate instance() {
        return instance(Duration.ofMillis(50));
    }

    /** Returns a new instance whose callers share a hold for a given time. */
    protected LockTemplate instance(Duration maxPassTime) {
        return instance(store(), LEASE, maxPassTime);
    }

    /** Returns a new instance whose leases are renewed soon. */
    protected LockTemplate renewing() {
        return instance(storeOfBriefLeases(), BRIEF, Duration.ofMillis(50));
    }

    /** Waits until a lock has been renewed, and asserts that its end has moved for its holder and for the store. */
    protected static void assertRenewed(LockLease lease, LockTemplate other) {
        Instant end = Instant.now().plus(lease.remaining());
        Awaitility.await().atMost(SOON).until(() -> {
            Instant now = Instant.now();
            Duration inStore =
                    other.inspector().status(lease.name()).orElseThrow().remaining();
            return now.plus(inStore).isAfter(end.plusSeconds(1));
        });
        // The answer to the renewal may come later than that to another's question.
        Awaitility.await().until(() -> Instant.now().plus(lease.remaining()).isAfter(end));
        assertThat(lease.isHeld()).isTrue();
    }

    private LockTemplate instance(LockStore store, Duration lease, Duration maxPassTime) {
        LockTemplate template = LockTemplate.builder(fencing.watch(store))
                .leaseTime(lease)
                .handover(16, maxPassTime)
                .shutdownWait(Duration.ZERO)
                .instanceName("shop")
                .listener(events)
                .build();
        templates.add(template);
        return template;
    }
}
