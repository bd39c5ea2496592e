/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process in which no thread can be started for a while: locks stay held, are released and change hands all the same.
 */
class ThreadShortageTest {

    /** So large that the rest of the memory, which no stack fits in, is enough for everything else. */
    private static final String STACK = "-Xss64m";

    private static final int MEMORY_KILOBYTES = 4_000_000;
    private static final Duration SOON = Duration.ofSeconds(20);

    @Test
    @EnabledOnOs(OS.LINUX)
    void nothingIsForgottenWhileNoThreadCanBeStarted(@TempDir Path directory) throws Exception {
        File output = directory.resolve("output").toFile();
        ProcessBuilder limited = new ProcessBuilder(
                "sh",
                "-c",
                "ulimit -v " + MEMORY_KILOBYTES + " && exec \"$0\" \"$@\"",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                STACK,
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:ReservedCodeCacheSize=32m",
                "-XX:CompressedClassSpaceSize=64m",
                "-cp",
                System.getProperty("java.class.path"),
                Shortage.class.getName());
        limited.environment().put("MALLOC_ARENA_MAX", "1");
        Process process =
                limited.redirectErrorStream(true).redirectOutput(output).start();
        try {
            boolean ended = process.waitFor(3 * SOON.toSeconds(), TimeUnit.SECONDS);
            assertThat(Files.readString(output.toPath())).contains("all is well");
            assertThat(ended).isTrue();
        } finally {
            process.destroyForcibly();
        }
    }

    /** The process. */
    static final class Shortage {

        private static final Duration LEASE = Duration.ofSeconds(1);
        private static final CountDownLatch OVER = new CountDownLatch(1);

        public static void main(String[] args) throws Exception {
            MemoryLockStore store = new MemoryLockStore();
            LockTemplate one = LockTemplate.builder(store).leaseTime(LEASE).build();
            LockTemplate two =
                    LockTemplate.builder(store.peer()).leaseTime(LEASE).build();
            use(one);
            use(two);
            AtomicInteger told = new AtomicInteger();
            LockLease held = one.acquire("held");
            LockLease lost = one.acquire("lost");
            lost.onLost(loss -> told.incrementAndGet());
            LockLease other = two.acquire("wanted");
            CompletableFuture<LockLease> wanted = one.acquireAsync(LockRequest.of("wanted"));
            CompletableFuture<LockLease> cancelled = one.acquireAsync(LockRequest.of("wanted"));

            System.out.println("threads started: " + startAll());
            two.inspector().forceRelease("lost");
            await(() -> !lost.isHeld(), "the loss is not known");
            cancelled.cancel(true);
            other.close();
            // The end of a lease is what has to pass, not a moment for others.
            long end = System.nanoTime() + 3 * LEASE.toNanos();
            await(() -> System.nanoTime() > end, "time stands still");
            check(held.isHeld(), "the lock was not renewed");
            two.acquire("lost").close();
            held.close();
            two.acquire("held").close();
            check(!canStart(), "there are threads again");

            OVER.countDown();
            wanted.get(SOON.toSeconds(), TimeUnit.SECONDS).close();
            await(() -> told.get() > 0, "the loss was not told");
            lost.close();
            await(() -> one.toString().contains("held=0, names=0"), "something is left: " + one);
            two.acquire("wanted").close();
            one.close();
            two.close();
            check(told.get() == 1, "the loss was told again");
            System.out.println("all is well");
            System.exit(0);
        }

        /** Loads the classes: what is missing is threads, and nothing else. */
        private static void use(LockTemplate template) throws Exception {
            LockLease lease = template.acquire("first");
            CompletableFuture<LockLease> next = template.acquireAsync(LockRequest.of("first"));
            lease.close();
            next.get(SOON.toSeconds(), TimeUnit.SECONDS).close();
        }

        private static int startAll() {
            int started = 0;
            while (canStart()) {
                started++;
            }
            return started;
        }

        /** Starts a thread that stays, if that is possible. */
        private static boolean canStart() {
            Thread thread = new Thread(() -> {
                try {
                    OVER.await();
                } catch (InterruptedException foreign) {
                    throw new IllegalStateException(foreign);
                }
            });
            thread.setDaemon(true);
            try {
                thread.start();
                return true;
            } catch (OutOfMemoryError noThread) {
                return false;
            }
        }

        private static void await(java.util.function.BooleanSupplier condition, String otherwise) {
            // On this thread, because there is no other.
            Awaitility.await().pollInSameThread().alias(otherwise).atMost(SOON).until(condition::getAsBoolean);
        }

        private static void check(boolean condition, String otherwise) {
            if (!condition) {
                throw new AssertionError(otherwise);
            }
        }
    }
}
