/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** A process that locks as it is told, one thread a lock. */
final class LockingProcess {

    static final Duration LEASE = Duration.ofMillis(1_500);

    private static final int MOST_TRIES = 20;

    private final LockTemplate template;
    private final Map<String, LockLease> leases = new ConcurrentHashMap<>();
    private final Map<String, CountDownLatch> bodies = new ConcurrentHashMap<>();

    private LockingProcess(LockTemplate template) {
        this.template = template;
    }

    static LockTemplate template(Connections driver, int port, Duration shutdownWait) {
        return LockTemplate.builder(new RedisLockStore(driver.to(port), RedisLockStore.Options.defaults()))
                .leaseTime(LEASE)
                .shutdownWait(shutdownWait)
                .build();
    }

    public static void main(String[] arguments) throws Exception {
        LockingProcess process = new LockingProcess(template(
                Connections.valueOf(arguments[0]),
                Integer.parseInt(arguments[1]),
                Duration.ofMillis(Long.parseLong(arguments[2]))));
        // The first connection of a driver may take longer than the command timeout on a loaded machine
        Awaitility.await()
                .atMost(Duration.ofSeconds(60))
                .ignoreExceptionsMatching(LockException.class::isInstance)
                .until(() -> process.template.tryRun(
                        "warm " + ProcessHandle.current().pid(), lease -> {}));
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            process.obey(line.split(" ", -1));
        }
    }

    private void obey(String[] words) {
        String name = words[1];
        switch (words[0]) {
            case "lock" -> fork(() -> untilAnswered(() -> lock(name)));
            case "watch" -> fork(() -> watch(name));
            case "act" -> fork(() -> act(name));
            case "body" -> fork(() -> untilAnswered(() -> body(name)));
            case "end" -> body(name, bodies).countDown();
            case "close" ->
                fork(() -> {
                    template.close();
                    say("closed", name, "");
                });
            default -> say("unknown", words[0], "");
        }
    }

    private static void fork(Runnable task) {
        new Thread(task, "told").start();
    }

    /** Acquires again where Redis did not answer within the short command timeout, as on a loaded machine. */
    private static void untilAnswered(Runnable acquisition) {
        for (int left = MOST_TRIES; ; left--) {
            try {
                acquisition.run();
                return;
            } catch (LockStoreException silent) {
                if (left == 0) {
                    throw silent;
                }
            }
        }
    }

    private static void say(String what, String name, Object more) {
        System.out.println((what + " " + name + " " + more).strip());
    }

    private void lock(String name) {
        LockLease lease =
                template.acquire(LockRequest.of(name).withMode(LockMode.FAIR).withWaitTime(Duration.ofMinutes(1)));
        leases.put(name, lease);
        lease.onLost(lost -> say("heard", name, System.nanoTime()));
        say("held", name, lease.fencingToken());
    }

    /** Uses a lease without a pause, and says when it was held last. */
    private void watch(String name) {
        LockLease lease = leases.get(name);
        long last = 0;
        for (long now = System.nanoTime(); lease.isHeld(); now = System.nanoTime()) {
            last = now;
        }
        say("lost", name, last);
    }

    /** What a careful body does before it acts. */
    private void act(String name) {
        try {
            leases.get(name).ensureHeld();
            say("acted", name, "");
        } catch (LockException lost) {
            say("refused", name, lost.getClass().getSimpleName());
        }
    }

    private static CountDownLatch body(String name, Map<String, CountDownLatch> bodies) {
        return bodies.computeIfAbsent(name, unseen -> new CountDownLatch(1));
    }

    private void body(String name) {
        template.run(name, lease -> {
            say("in", name, lease.fencingToken());
            boolean ended = awaitEnd(name);
            say("out", name, ended + " " + lease.isHeld());
        });
    }

    private boolean awaitEnd(String name) {
        try {
            return body(name, bodies).await(1, TimeUnit.MINUTES);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
