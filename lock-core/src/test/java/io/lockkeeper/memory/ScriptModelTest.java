/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.lockkeeper.memory.CommandGenerator.Kind;
import io.lockkeeper.memory.ModelCommand.Step;
import io.lockkeeper.memory.ModelComparison.Failure;
import io.lockkeeper.memory.ModelRun.Call;
import io.lockkeeper.testing.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The scripts and the model of the record in Java agree after every step of random sequences of commands, copies and
 * late copies included: in reply, messages and record. {@code -Dmodel.seed} repeats a run, {@code -Dmodel.steps}
 * lengthens it.
 */
class ScriptModelTest {

    private static final int STEPS = Integer.getInteger("model.steps", 10_000);
    private static final int LENGTH = 160;

    private static RedisServer server;

    private final long seed = Long.getLong("model.seed", System.nanoTime());

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @ParameterizedTest
    @EnumSource
    void scriptsAndModelAgree(Kind kind) {
        int sequences = (STEPS + LENGTH - 1) / LENGTH;
        try (VirtualTimeScripts scripts = new VirtualTimeScripts(server.connect())) {
            List<Step> previousSteps = List.of();
            ModelComparison previous = new ModelComparison(previousSteps);
            scripts.send(previous.calls(), previous.times());
            for (int i = 0; i <= sequences; i++) {
                List<Step> steps = i == sequences ? List.of() : new CommandGenerator(kind, seed + i).steps(LENGTH);
                ModelComparison next = new ModelComparison(steps);
                // The server works on this sequence while the results of the one before it are read
                scripts.send(next.calls(), next.times());
                Optional<Failure> failure =
                        previous.failure(scripts.receive(previous.calls().size()));
                if (failure.isPresent()) {
                    report(kind, seed + i - 1, previousSteps, failure.get());
                }
                previous = next;
                previousSteps = steps;
            }
        }
    }

    /**
     * One that found too many dead places was refused: a late copy of it finds fewer, and must not hold for a lease.
     */
    @Test
    void aLateCopyGetsPastDeadPlacesForNoLongerThanItsSenderWaits() {
        assertThat(failure(new CommandGenerator(Kind.MINIMUM_HOLD, 59_970_539_408_481L).steps(LENGTH)))
                .isEmpty();
    }

    /** The next one of those who wait is told of the hold's end; not one of which the client is gone. */
    @Test
    void theFastPathTellsNoClientThatIsGone() {
        assertThat(failure(new CommandGenerator(Kind.EXCLUSIVE, 21_362_841_521_634L).steps(LENGTH)))
                .isEmpty();
    }

    /** A record tells the last nine digits of the second until which its key lives. */
    @Test
    void aKeyOutlivesItsHoldWhereTheDigitsOfItsEndBeginAnew() {
        long lease = 500;
        String settings = "%013d %013d %013d %013d channel:".formatted(lease, ModelRun.TOMBSTONE_MILLIS, 0, 0);
        String attempt = "CLIENT00000000000001";
        List<Call> calls = new ArrayList<>();
        List<Long> times = new ArrayList<>();
        long begin = (2_000_000_000L - ModelRun.TOMBSTONE_MILLIS / 1_000 - 4) * 1_000_000;
        for (int i = 0; i < 30; i++) {
            long now = begin + i * 400_000L;
            times.add(now);
            String claim = "%016d%016dX1%s %05d %013d".formatted(now + 2_000_000, now, attempt, 1, lease);
            List<String> arguments =
                    i == 0 ? List.of(claim, settings) : List.of(attempt, "%013d0%016d".formatted(lease, 0), settings);
            calls.add(new Call(i == 0 ? "acquire" : "renew", List.of("key"), arguments, "", "", "", false));
        }
        try (VirtualTimeScripts scripts = new VirtualTimeScripts(server.connect())) {
            scripts.send(calls, times);
            assertThat(scripts.receive(calls.size())).allSatisfy(result -> assertThat(result.lives())
                    .singleElement()
                    .asInstanceOf(InstanceOfAssertFactories.LONG)
                    .isGreaterThanOrEqualTo(lease + ModelRun.TOMBSTONE_MILLIS));
        }
    }

    private static void report(Kind kind, long seed, List<Step> steps, Failure first) {
        List<Step> least = SequenceShrinker.shrink(steps.subList(0, first.index() + 1), shorter -> failure(shorter)
                .filter(failure -> failure.kind().equals(first.kind()))
                .isPresent());
        Failure failure = failure(least).orElse(first);
        fail("%s: %s, after %d steps of seed %d\n%s\n%s"
                .formatted(kind, failure.kind(), least.size(), seed, new SequenceText(least), failure.details()));
    }

    private static Optional<Failure> failure(List<Step> steps) {
        try (VirtualTimeScripts scripts = new VirtualTimeScripts(server.connect())) {
            ModelComparison comparison = new ModelComparison(steps);
            scripts.send(comparison.calls(), comparison.times());
            return comparison.failure(scripts.receive(comparison.calls().size()));
        }
    }

    @Test
    void aFailingSequenceShrinksToTheStepsThatMatter() {
        List<Integer> all = IntStream.range(0, 200).boxed().toList();
        assertThat(SequenceShrinker.shrink(all, steps -> steps.containsAll(List.of(3, 77, 199))))
                .containsExactly(3, 77, 199);
    }
}
