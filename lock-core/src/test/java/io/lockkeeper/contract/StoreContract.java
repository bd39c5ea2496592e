/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A part of what every store must do, seen through templates. Each template of a test is an instance of its own. */
abstract class StoreContract {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    /** The lease of the instances. */
    protected static final Duration LEASE = Duration.ofSeconds(3);

    /** Longer than anything may take that does not wait for a lease to end. */
    protected static final Duration SOON = Duration.ofSeconds(2);

    protected final RecordingListener events = new RecordingListener();
    private final List<LockTemplate> templates = new ArrayList<>();
    protected String name = "";

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

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
        LockTemplate template = LockTemplate.builder(fencing.watch(store()))
                .leaseTime(LEASE)
                .handover(16, maxPassTime)
                .shutdownWait(Duration.ZERO)
                .instanceName("shop")
                .listener(events)
                .build();
        templates.add(template);
        return template;
    }
}
