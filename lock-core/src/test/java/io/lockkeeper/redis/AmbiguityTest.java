/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.redis.AmbiguousCommand.Ambiguity;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Every command, whose outcome its caller cannot know in every way, over every driver, with and without a contender.
 * Many at a time: they mostly wait.
 */
class AmbiguityTest {

    private static final int AT_A_TIME = 24;
    private static RedisServer server;
    private static ExecutorService threads;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        threads = Executors.newFixedThreadPool(AT_A_TIME);
    }

    @AfterAll
    static void stop() {
        threads.shutdownNow();
        server.close();
    }

    @TestFactory
    List<DynamicTest> nobodyHoldsTwiceOrForLong() {
        List<DynamicTest> tests = new ArrayList<>();
        for (AmbiguousCommand command : AmbiguousCommand.values()) {
            for (Ambiguity ambiguity : Ambiguity.values()) {
                for (Connections driver : Connections.values()) {
                    for (boolean contended : new boolean[] {true, false}) {
                        tests.add(test(new AmbiguousCase(command, ambiguity, driver, contended)));
                    }
                }
            }
        }
        return tests;
    }

    /** Begins to run a case; its test waits for the outcome. */
    private static DynamicTest test(AmbiguousCase ambiguous) {
        Future<?> run = threads.submit(() -> {
            ambiguous.run(server);
            return null;
        });
        return DynamicTest.dynamicTest(ambiguous.toString(), () -> run.get(2, TimeUnit.MINUTES));
    }
}
