/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.interceptor.LogRecorder;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** A time without a unit is in milliseconds, which hardly anyone means who writes 2. */
class TimesWithoutUnitTest {

    private static final String TWO =
            "WARN lockkeeper.redis.command-timeout: 2 without a unit is 2 ms, write 2s, or 2ms if that is meant";

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory");

    static Stream<PropertySource<?>> sources() {
        return Stream.of(
                new MapPropertySource("text", Map.of("lockkeeper.redis.command-timeout", "2")),
                new MapPropertySource("number", Map.of("lockkeeper.redis.command-timeout", 2)),
                new MapPropertySource("other spelling", Map.of("lockkeeper.redis.commandTimeout", "2")),
                new MapPropertySource(
                        "placeholder", Map.of("lockkeeper.redis.command-timeout", "${timeout}", "timeout", "2")),
                new SystemEnvironmentPropertySource(
                        "test-systemEnvironment", Map.of("LOCKKEEPER_REDIS_COMMANDTIMEOUT", "2")));
    }

    @ParameterizedTest
    @MethodSource("sources")
    void theStartWarnsOnceWhereverTheTimeComesFrom(PropertySource<?> source) {
        assertThat(said(with(source))).containsExactly(TWO);
    }

    static Stream<String> durations() {
        return durations("lockkeeper.", LockkeeperProperties.class).stream();
    }

    private static List<String> durations(String prefix, Class<?> type) {
        List<String> names = new ArrayList<>();
        for (RecordComponent component : type.getRecordComponents()) {
            String property =
                    prefix + component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
            if (component.getType() == Duration.class) {
                names.add(property.replace("shutdown.wait-time", "shutdown.wait"));
            } else if (component.getType().isRecord()) {
                names.addAll(durations(property + ".", component.getType()));
            }
        }
        return names;
    }

    @ParameterizedTest
    @MethodSource("durations")
    void allTimesAreLookedAt(String property) {
        assertThat(said(runner.withPropertyValues(property + "=2500")))
                .singleElement()
                .asString()
                .startsWith("WARN " + property + ": 2500 without a unit is 2500 ms, write 2500s, or 2500ms if");
    }

    @ParameterizedTest
    @ValueSource(strings = {"2s", "2000ms", "PT2S", "+2s", "${timeout}s", ""})
    void aTimeWithAUnitIsNotSpokenOf(String value) {
        assertThat(said(runner.withPropertyValues("timeout=2", "lockkeeper.redis.command-timeout=" + value)))
                .isEmpty();
    }

    @Test
    void otherObjectsAndZeroAreNotSpokenOf() {
        Map<String, Object> values = Map.of(
                "lockkeeper.redis.command-timeout", Duration.ofSeconds(2),
                "lockkeeper.wait-time", "0",
                "lockkeeper.handover.max-passes", 7,
                "lockkeeper.redis.replica-acks", "0",
                "lockkeeper.instance-name", "7");
        assertThat(said(with(new MapPropertySource("values", values)))).isEmpty();
    }

    @Test
    void whatStopsTheStartIsSaidThereAlone() {
        assertThat(said(runner.withPropertyValues("lockkeeper.lease-time=30"))).isEmpty();
    }

    private ApplicationContextRunner with(PropertySource<?> source) {
        return runner.withInitializer(
                context -> context.getEnvironment().getPropertySources().addFirst(source));
    }

    private static List<String> said(ApplicationContextRunner application) {
        try (LogRecorder log = new LogRecorder(LockkeeperAutoConfiguration.class)) {
            application.run(context -> {});
            return log.lines().stream().filter(line -> line.startsWith("WARN")).toList();
        }
    }
}
