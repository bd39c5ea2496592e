/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;

/** A process that wants to lead, and says so when it does. */
final class LeaderProcess {

    static final Duration LEASE = Duration.ofSeconds(4);
    static final Duration WAIT = Duration.ofMillis(100);

    private LeaderProcess() {}

    /** Leads as soon as it can, until it is killed. */
    public static void main(String[] arguments) throws InterruptedException {
        initiator(template(Integer.parseInt(arguments[0])), new DefaultCandidate("child", "cleaner") {
                    @Override
                    public void onGranted(Context context) {
                        System.out.println("leads");
                    }
                })
                .start();
        Thread.currentThread().join();
    }

    static LockTemplate template(int port) {
        return LockTemplate.builder(new RedisLockStore(Connections.JEDIS.to(port), RedisLockStore.Options.defaults()))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    static LockRegistryLeaderInitiator initiator(LockTemplate template, DefaultCandidate candidate) {
        LockRegistryLeaderInitiator initiator =
                new LockRegistryLeaderInitiator(new LockkeeperLockRegistry(template), candidate);
        initiator.setHeartBeatMillis(WAIT.toMillis());
        initiator.setApplicationEventPublisher(event -> {});
        return initiator;
    }

    /** Puts down what becomes of it. */
    static DefaultCandidate recording(String id, BlockingQueue<String> events) {
        return new DefaultCandidate(id, "cleaner") {
            @Override
            public void onGranted(Context context) {
                events.add(id + " leads");
            }

            @Override
            public void onRevoked(Context context) {
                events.add(id + " stops");
            }
        };
    }
}
