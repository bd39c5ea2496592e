/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.LockException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.torture.TortureSettings.Sabotage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Stream;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A process whose threads lock until they are told to stop; then it says what is left of all that. */
final class TortureWorker {

    /** What a worker says when it fails. */
    static final String FAILED = "left a thread that failed: ";

    private static final Duration TOMBSTONES = Duration.ofSeconds(2);
    private static final long PULSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long STALL_NANOS = TimeUnit.MILLISECONDS.toNanos(60);
    private static final int WARM_UPS = 20;

    private static final int STATE_SECONDS = 5;

    /** Threads without work go away after 10 s. */
    private static final int THREADS_SECONDS = 15;

    private final String name;
    private final TortureSettings settings;
    private final Recorder recorder;
    private final List<RedisConnectionFactory> connections = new ArrayList<>();
    private final LockTemplate template;
    private final int registerPort;
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopped;

    /** Makes the store of a worker. */
    interface Stores {

        /**
         * Makes a store.
         *
         * @param connect returns connections by the text of an address, a port or the name of a topology and its ports
         * @param address what the worker was told
         * @param options of stores in Redis
         */
        LockStore make(
                Function<String, RedisConnectionFactory> connect, String address, RedisLockStore.Options options);
    }

    private TortureWorker(String[] arguments, Stores stores) {
        name = arguments[0];
        settings = TortureSettings.ofText(arguments[5]);
        UnconfirmedGrants grants = new UnconfirmedGrants();
        recorder = new Recorder(name, Path.of(arguments[1]), settings.sabotage() == Sabotage.ENDLESS_LEASES, grants);
        Connections driver = Connections.valueOf(arguments[2]);
        registerPort = Integer.parseInt(arguments[4]);
        LockStore store = stores.make(
                address -> {
                    connections.add(connections(driver, address));
                    return connections.get(connections.size() - 1);
                },
                arguments[3],
                settings.promise().of(RedisLockStore.Options.defaults().withTombstoneTime(TOMBSTONES)));
        template = LockTemplate.builder(
                        grants.watch(settings.sabotage() == Sabotage.GENEROUS_STORE ? new GenerousStore(store) : store))
                .leaseTime(settings.lease())
                .shutdownWait(Duration.ZERO)
                .listener(recorder)
                .instanceName(name)
                .build();
        warmUp();
    }

    /** An address is a port, or the name of a topology and its ports. */
    private static RedisConnectionFactory connections(Connections driver, String address) {
        String[] parts = address.split(":", -1);
        if (parts.length == 1) {
            return driver.to(Integer.parseInt(address));
        }
        List<Integer> ports =
                Stream.of(parts[1].split(",", -1)).map(Integer::valueOf).toList();
        return parts[0].equals("cluster") ? driver.toCluster(ports) : driver.toSentinel(ports);
    }

    /** A cold JVM needs so long for its first lock that the lock may be over: nothing that the torture is to show. */
    private void warmUp() {
        for (int i = 0; i < WARM_UPS; i++) {
            try {
                template.run("warm " + name, lease -> {});
            } catch (LockException faulty) {
                // The nemesis is at work already
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        work(arguments, (connect, address, options) -> new RedisLockStore(connect.apply(address), options));
    }

    /** Works until it is told to stop. */
    static void work(String[] arguments, Stores stores) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        TortureWorker worker = new TortureWorker(arguments, stores);
        System.out.println("ready");
        for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
            if (line.equals("clock")) {
                System.out.println("clock " + System.nanoTime());
            } else {
                worker.start();
            }
        }
        System.out.println("left " + worker.stop());
        System.exit(0);
    }

    private void start() {
        Thread pulse = new Thread(this::watchPulse, "pulse");
        pulse.setDaemon(true);
        pulse.start();
        for (int i = 0; i < settings.threads(); i++) {
            Random random = new Random(31 * (31 * settings.seed() + name.hashCode()) + i);
            Thread thread = new Thread(() -> work(random), "torture-" + i);
            threads.add(thread);
            thread.start();
        }
    }

    private void work(Random random) {
        try (RegisterClient register = new RegisterClient(registerPort)) {
            LeaseUse use =
                    new LeaseUse(register, recorder, random, settings.lease().toNanos());
            TortureThread thread = new TortureThread(template, recorder, use, random, settings);
            while (!stopped) {
                thread.step();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(40)));
            }
        } catch (Throwable failure) {
            // Read by the parent as what is left of this worker
            System.out.println(FAILED + failure);
            failure.printStackTrace();
            System.exit(1);
        }
    }

    /** Tells when this process did not run, by a stop or for want of a processor. */
    private void watchPulse() {
        long last = System.nanoTime();
        while (!stopped) {
            LockSupport.parkNanos(PULSE_NANOS);
            long now = System.nanoTime();
            if (now - last > STALL_NANOS) {
                recorder.stalled(last);
            }
            last = now;
        }
    }

    /** Ends all threads and everything else; returns what cannot be ended, or should have ended by itself. */
    private String stop() throws Exception {
        stopped = true;
        for (Thread thread : threads) {
            thread.join();
        }
        List<String> left = new ArrayList<>();
        if (!within(STATE_SECONDS, () -> template.toString().equals("LockTemplate[held=0, names=0]"))) {
            left.add(template.toString());
        }
        template.close();
        connections.forEach(Connections::close);
        System.out.println("closed");
        if (!within(THREADS_SECONDS, () -> ours().isEmpty())) {
            left.add("threads " + ours());
        }
        recorder.close();
        return left.toString();
    }

    private static List<String> ours() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(thread -> thread.startsWith("lockkeeper"))
                .sorted()
                .toList();
    }

    private interface Condition {
        boolean holds();
    }

    private static boolean within(int seconds, Condition condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!condition.holds() && System.nanoTime() < end) {
            LockSupport.parkNanos(PULSE_NANOS);
        }
        return condition.holds();
    }
}
