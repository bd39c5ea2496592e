/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.memory.MemoryLockStore;
import java.util.concurrent.CountDownLatch;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

/** An application with locks in memory, and another instance of it that competes for them. */
final class LockedApplication {

    private LockedApplication() {}

    /** Returns a runner of the application, in which nobody waits for a lock unless the annotation says so. */
    static ApplicationContextRunner runner() {
        return runner(new ApplicationContextRunner());
    }

    static ApplicationContextRunner runner(ApplicationContextRunner empty) {
        return empty.withConfiguration(
                        AutoConfigurations.of(AopAutoConfiguration.class, LockkeeperAutoConfiguration.class))
                .withPropertyValues("lockkeeper.store=memory", "lockkeeper.wait-time=0s");
    }

    /** Lets another instance hold a lock while something runs here. */
    static void whileHeldElsewhere(ApplicationContext context, String name, Action action) {
        MemoryLockStore store = context.getBean(MemoryLockStore.class).peer();
        try (LockTemplate elsewhere = LockTemplate.builder(store).build();
                LockLease lease = elsewhere.acquire(name)) {
            action.run();
        } catch (RuntimeException | Error failure) {
            throw failure;
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** Takes a lock of the current lease away, as an operator does, and returns when the lease is known to be lost. */
    static void lose(LockInspector inspector, String name) throws InterruptedException {
        CountDownLatch lost = new CountDownLatch(1);
        LockContext.require().onLost(loss -> lost.countDown());
        beginLoss(inspector, name);
        lost.await();
    }

    /** Takes a lock away, as an operator does, and does not wait for it: the loss comes while the body goes on. */
    static void beginLoss(LockInspector inspector, String name) {
        new Thread(() -> inspector.forceRelease(name), "operator").start();
    }

    /** What runs while somebody else holds a lock. */
    interface Action {
        void run() throws Exception;
    }
}
