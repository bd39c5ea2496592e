/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.bind.validation.BindValidationException;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.env.MapPropertySource;

class LockkeeperPropertiesTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory");

    @Test
    void everyPropertyHasTheDefaultOfTheDocumentation() {
        runner.run(context -> {
            LockkeeperProperties properties = context.getBean(LockkeeperProperties.class);
            assertThat(properties.enabled()).isTrue();
            assertThat(properties.store()).isEqualTo(StoreType.MEMORY);
            assertThat(properties.keyPrefix()).isEqualTo("lockkeeper");
            assertThat(properties.waitTime()).isEqualTo(Duration.ofSeconds(60));
            assertThat(properties.leaseTime()).isEqualTo(Duration.ofSeconds(30));
            assertThat(properties.retryDelay()).isEqualTo(Duration.ofMillis(100));
            assertThat(properties.advisorOrder()).isEqualTo(Integer.MAX_VALUE - 100);
            assertThat(properties.handover().maxPasses()).isEqualTo(16);
            assertThat(properties.handover().maxTime()).isEqualTo(Duration.ofMillis(50));
            assertThat(properties.shutdown().waitTime()).isEqualTo(Duration.ofSeconds(25));
            assertThat(properties.instanceName()).isNull();
            assertThat(properties.redis().commandTimeout()).isNull();
            assertThat(properties.redis().tombstoneTime()).isEqualTo(Duration.ofSeconds(30));
            assertThat(properties.redis().replicaAcks()).isEqualTo("0");
            assertThat(properties.redis().replicaAckTimeout()).isEqualTo(Duration.ofMillis(500));
            assertThat(properties.redis().quorum().nodes()).isEmpty();
        });
    }

    /** As where an environment variable is there and has no value. */
    @Test
    void anEmptyPropertyIsAnUnsetOne() {
        runner.run(unset -> runner.withPropertyValues(
                        "lockkeeper.enabled=",
                        "lockkeeper.wait-time=",
                        "lockkeeper.advisor-order=",
                        "lockkeeper.inside-transaction=",
                        "lockkeeper.handover.max-passes=",
                        "lockkeeper.shutdown.wait=",
                        "lockkeeper.instance-name=",
                        "lockkeeper.redis.connection-factory=",
                        "lockkeeper.redis.command-timeout=",
                        "lockkeeper.redis.replica-acks=",
                        "lockkeeper.redis.quorum.nodes=")
                .run(context -> assertThat(context.getBean(LockkeeperProperties.class))
                        .isEqualTo(unset.getBean(LockkeeperProperties.class))));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "key-prefix | ' ' | must not be blank: choose a prefix such as lockkeeper",
                "wait-time | -1s | must not be negative: choose 0 to try once",
                "lease-time | 999ms | must be 1000ms or more: it is renewed every third of it",
                "lease-time | 30 | must be 1000ms or more: it is renewed every third of it; 30 without a unit is 30 ms, write 30s",
                "redis.grant-time | 3 | must be 300ms or more: choose a time such as 3s; 3 without a unit is 3 ms, write 3s",
                "lease-time | P100000000000D | must be at most 100 years: shorten it",
                "lease-time | P-100000000000D | must be 1000ms or more: it is renewed every third of it",
                "handover.max-time | P100000000000D | must be at most 100 years: shorten it",
                "redis.grant-time | P100000000000D | must be at most 100 years: shorten it",
                "redis.command-timeout | P100000000000D | must be at most 100 years: shorten it",
                "redis.tombstone-time | P100000000000D | must be at most 100 years: shorten it",
                "retry-delay | 0 | must be 1ms or more: choose a delay such as 100ms",
                "handover.max-passes | -1 | must be between 0 and 9999",
                "handover.max-time | -1ms | must not be negative",
                "shutdown.wait | -1s | must not be negative: choose 0 not to wait",
                "redis.command-timeout | 11s | must be at most a third of lockkeeper.lease-time, which is 10000ms: shorten it",
                "redis.command-timeout | 0 | must be 1ms or more",
                "redis.grant-time | 299ms | must be 300ms or more",
                "redis.grant-time | 31s | must be at most lockkeeper.lease-time, which is 30000ms",
                "redis.poll-interval | 31s | must be at most lockkeeper.lease-time, which is 30000ms: shorten it",
                "redis.tombstone-time | 0 | must be at least lockkeeper.redis.command-timeout, which is 2000ms: lengthen it",
                "redis.tombstone-time | -1s | must be at least lockkeeper.redis.command-timeout, which is 2000ms",
                "redis.tombstone-time | 30 | must be at least lockkeeper.redis.command-timeout, which is 2000ms: lengthen it, or shorten that; 30 without a unit is 30 ms, write 30s",
                "redis.replica-acks | most | must be a number of replicas or all: choose 0 to wait for none",
                "redis.replica-ack-timeout | 0 | must be 1ms or more",
                "redis.quorum.nodes | redis://a,redis://b | must name three or more masters, and an odd number of them: there are 2",
                "redis.quorum.nodes | redis://a,redis://b,c:6379 | must be URIs such as redis://user:password@host:6379/0: number 3 does not begin with redis://",
                "redis.quorum.nodes | redis://a,redis://b_2,redis://c | must be URIs such as redis://user:password@host:6379/0: number 2 has no valid host",
                "redis.quorum.nodes | redis://a,redis://b,redis://c/x | must be URIs such as redis://user:password@host:6379/0: number 3 has something else than",
                "redis.quorum.nodes | redis://a,redis://b,redis://c:65536 | must be URIs such as redis://user:password@host:6379/0: number 3 has a port that is not between 1 and 65535",
                "redis.quorum.nodes | redis://a:0,redis://b,redis://c | must be URIs such as redis://user:password@host:6379/0: number 1 has a port that is not",
                "redis.quorum.nodes | redis://a,redis://b,redis://c d | must be URIs such as redis://user:password@host:6379/0: number 3 is not a URI",
                "redis.quorum.nodes | redis://a,redis://b,rediss://A:6379/1 | must be independent masters: number 3 is the same server as number 1, replace it by another one"
            })
    void nonsenseStopsTheStartWithOneSentence(String property, String value, String sentence) {
        String name = "lockkeeper." + property;
        runner.withPropertyValues(name + "=" + value).run(context -> {
            assertThat(context).hasFailed();
            assertThat(describe(context.getStartupFailure()))
                    .contains("Property: " + name)
                    .contains("Value: ")
                    .contains("Reason: " + sentence);
        });
    }

    @ParameterizedTest
    @CsvSource({
        "lease-time, 500ms",
        "lease-time, PT0.5S",
        "lease-time, 0s",
        "redis.grant-time, +3ms",
        "redis.tombstone-time, 0s",
        "redis.tombstone-time, 1500ms"
    })
    void aTimeWithAUnitIsNotSaidToHaveNoneAndIsTheOnlyOneThatIsBlamed(String property, String value) {
        runner.withPropertyValues("lockkeeper." + property + "=" + value)
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains("Property: lockkeeper." + property, "Value: ")
                        .doesNotContain("without a unit")
                        .containsOnlyOnce("Property: "));
    }

    @Test
    void replicaAcksTogetherWithAQuorumAreRefused() {
        runner.withPropertyValues(
                        "lockkeeper.redis.replica-acks=1",
                        "lockkeeper.redis.quorum.nodes=redis://a,redis://b,redis://c")
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains("does not go together with lockkeeper.redis.quorum.nodes"));
    }

    @Test
    void replicaAcksFitTwiceIntoACommandTimeout() {
        runner.withPropertyValues("lockkeeper.redis.replica-acks=all", "lockkeeper.lease-time=2s")
                .run(
                        context -> assertThat(describe(context.getStartupFailure()))
                                .contains(
                                        "must be at most half of lockkeeper.redis.command-timeout, which is 333ms: shorten it"));
        runner.withPropertyValues("lockkeeper.redis.replica-acks=2", "lockkeeper.redis.replica-ack-timeout=1s")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void aTombstoneIsNotShorterThanACommandAlsoWhereThatTimeIsNotSet() {
        runner.withPropertyValues("lockkeeper.redis.tombstone-time=1s")
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains(
                                "Property: lockkeeper.redis.tombstone-time",
                                "must be at least lockkeeper.redis.command-timeout, which is 2000ms: lengthen it, or"
                                        + " shorten that"));
        runner.withPropertyValues("lockkeeper.lease-time=200s", "lockkeeper.redis.command-timeout=40s")
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains(
                                "Property: lockkeeper.redis.tombstone-time",
                                "Value: \"PT30S\"",
                                "must be at least lockkeeper.redis.command-timeout, which is 40000ms"));
        runner.withPropertyValues("lockkeeper.redis.tombstone-time=1s", "lockkeeper.redis.command-timeout=1s")
                .run(context -> assertThat(context).hasNotFailed());
        runner.withPropertyValues("lockkeeper.redis.tombstone-time=1s", "lockkeeper.lease-time=3s")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void aDefaultThatDoesNotFitIsShown() {
        runner.withPropertyValues("lockkeeper.redis.replica-acks=1", "lockkeeper.redis.command-timeout=900ms")
                .run(
                        context -> assertThat(describe(context.getStartupFailure()))
                                .contains(
                                        "Property: lockkeeper.redis.replica-ack-timeout",
                                        "Value: \"PT0.5S\"",
                                        "which is 450ms: shorten it, or lengthen that; it is not set, and this is its default"));
        runner.withPropertyValues(
                        "lockkeeper.redis.replica-acks=1",
                        "lockkeeper.redis.replica-ack-timeout=500ms",
                        "lockkeeper.redis.command-timeout=900ms")
                .run(context ->
                        assertThat(describe(context.getStartupFailure())).doesNotContain("it is not set"));
    }

    /** A blank at the end of a line is not seen: with another prefix, instances would not exclude each other. */
    @Test
    void blanksAroundATextAreNoPartOfIt() {
        runner.withInitializer(context -> context.getEnvironment()
                        .getPropertySources()
                        .addFirst(new MapPropertySource(
                                "blanks",
                                Map.of(
                                        "lockkeeper.key-prefix", " shop ",
                                        "lockkeeper.instance-name", "till 1 ",
                                        "lockkeeper.redis.connection-factory", "mine ",
                                        "lockkeeper.redis.replica-acks", " ALL "))))
                .run(context -> {
                    LockkeeperProperties properties = context.getBean(LockkeeperProperties.class);
                    assertThat(properties.keyPrefix()).isEqualTo("shop");
                    assertThat(properties.instanceName()).isEqualTo("till 1");
                    assertThat(properties.redis().connectionFactory()).isEqualTo("mine");
                    assertThat(properties.redis().replicaAcks()).isEqualTo("all");
                });
    }

    /** By Spring Boot itself, and in a message that shows the blank. */
    @ParameterizedTest
    @ValueSource(strings = {"2s ", " 2s", "2 s"})
    void blanksInATimeAreRefused(String time) {
        runner.withInitializer(context -> context.getEnvironment()
                        .getPropertySources()
                        .addFirst(new MapPropertySource("blanks", Map.of("lockkeeper.wait-time", time))))
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessage("'" + time + "' is not a valid duration"));
    }

    @Test
    void aConnectionFactoryTogetherWithAQuorumIsRefused() {
        runner.withPropertyValues(
                        "lockkeeper.redis.connection-factory=mine",
                        "lockkeeper.redis.quorum.nodes=redis://a,redis://b,redis://c")
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains("does not go together with lockkeeper.redis.quorum.nodes: remove one of them"));
    }

    @Test
    void passwordsOfMastersAreNotShown() {
        runner.withPropertyValues("lockkeeper.redis.quorum.nodes=redis://me:secret@a,redis://b")
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains("there are 2", "redis://***@a,redis://b")
                        .doesNotContain("secret"));
        runner.withPropertyValues("lockkeeper.redis.quorum.nodes=me:secret@a,redis://b,redis://c")
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains("number 1 does not begin with redis://", "***@a,redis://b,redis://c")
                        .doesNotContain("secret"));
    }

    @Test
    void allFaultsComeTogether() {
        runner.withPropertyValues("lockkeeper.lease-time=1ms", "lockkeeper.retry-delay=-1s")
                .run(context -> assertThat(describe(context.getStartupFailure()))
                        .contains("lockkeeper.lease-time", "lockkeeper.retry-delay"));
    }

    @Test
    void valuesThatAreOddButPossibleAreAccepted() {
        runner.withPropertyValues(
                        "lockkeeper.wait-time=0",
                        "lockkeeper.shutdown.wait=0",
                        "lockkeeper.handover.max-passes=0",
                        "lockkeeper.lease-time=1s",
                        "lockkeeper.inside-transaction=allow")
                .run(context -> assertThat(context).hasSingleBean(LockTemplate.class));
    }

    @Test
    void everyPropertyHasMetadata() throws IOException {
        try (InputStream metadata = getClass().getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            assertThat(new String(metadata.readAllBytes(), StandardCharsets.UTF_8))
                    .contains("lockkeeper.shutdown.wait\"", "lockkeeper.redis.quorum.nodes\"", "lockkeeper.store\"")
                    .doesNotContain("wait-time-time");
        }
    }

    /** Describes a failure as Spring Boot does. */
    private static String describe(Throwable failure) {
        assertThat(failure).hasRootCauseInstanceOf(BindValidationException.class);
        return StartupFailure.analyze(failure).getDescription();
    }
}
