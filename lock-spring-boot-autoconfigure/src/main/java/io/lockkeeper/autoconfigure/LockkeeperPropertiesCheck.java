/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.LockkeeperProperties.Redis;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.validation.BindingResult;
import org.springframework.validation.Errors;
import org.springframework.validation.FieldError;

/** Finds nonsense in the properties, and says of each what to change. */
final class LockkeeperPropertiesCheck {

    private static final int MAX_PASSES = 9_999;
    private static final Duration MILLI = Duration.ofMillis(1);
    private static final Duration COMMAND = Duration.ofSeconds(2);
    private static final Duration MIN_GRANT = Duration.ofMillis(300);

    private final LockkeeperProperties properties;
    private final Errors errors;

    LockkeeperPropertiesCheck(LockkeeperProperties properties, Errors errors) {
        this.properties = properties;
        this.errors = errors;
    }

    /** Checks everything. */
    void check() {
        if (properties.keyPrefix().isBlank()) {
            reject("key-prefix", "must not be blank: choose a prefix such as lockkeeper");
        }
        atLeast("wait-time", properties.waitTime(), Duration.ZERO, "choose 0 to try once");
        atLeast("lease-time", properties.leaseTime(), Duration.ofSeconds(1), "it is renewed every third of it");
        atLeast("retry-delay", properties.retryDelay(), MILLI, "choose a delay such as 100ms");
        int passes = properties.handover().maxPasses();
        if (passes < 0 || passes > MAX_PASSES) {
            reject(
                    "handover.max-passes",
                    "must be between 0 and 9999: choose 0 to pass no lock on within this instance");
        }
        atLeast("handover.max-time", properties.handover().maxTime(), Duration.ZERO, "choose a time such as 50ms");
        atLeast("shutdown.wait", properties.shutdown().waitTime(), Duration.ZERO, "choose 0 not to wait");
        checkRedisTimes(properties.redis(), properties.leaseTime());
        checkReplication(properties.redis());
    }

    private void checkRedisTimes(Redis redis, Duration lease) {
        atLeast("redis.command-timeout", redis.commandTimeout(), MILLI, "choose a time such as 2s");
        atMost("redis.command-timeout", redis.commandTimeout(), lease.dividedBy(3), "a third of lockkeeper.lease-time");
        atMost(
                "redis.command-timeout",
                redis.commandTimeout(),
                redis.tombstoneTime(),
                "lockkeeper.redis.tombstone-time");
        atLeast("redis.grant-time", redis.grantTime(), MIN_GRANT, "choose a time such as 3s");
        atMost("redis.grant-time", redis.grantTime(), lease, "lockkeeper.lease-time");
        atLeast("redis.poll-interval", redis.pollInterval(), MILLI, "choose a time such as 5s");
        atMost("redis.poll-interval", redis.pollInterval(), lease, "lockkeeper.lease-time");
        atLeast("redis.tombstone-time", redis.tombstoneTime(), MILLI, "choose a time such as 30s");
        atLeast("redis.replica-ack-timeout", redis.replicaAckTimeout(), MILLI, "choose a time such as 500ms");
    }

    private void checkReplication(Redis redis) {
        String acks = redis.replicaAcks().strip();
        int nodes = redis.quorum().nodes().size();
        if (!acks.matches("\\d{1,4}|all")) {
            reject("redis.replica-acks", "must be a number of replicas or all: choose 0 to wait for none");
        } else if (!acks.matches("0+")) {
            checkReplicaAcks(redis, nodes);
        }
        if (nodes > 0) {
            checkQuorum(redis);
        }
    }

    private void checkReplicaAcks(Redis redis, int nodes) {
        if (nodes > 0) {
            reject("redis.replica-acks", "does not go together with lockkeeper.redis.quorum.nodes: remove one of them");
        }
        Duration command = redis.commandTimeout();
        if (command == null) {
            Duration third = properties.leaseTime().dividedBy(3);
            command = third.compareTo(COMMAND) < 0 ? third : COMMAND;
        }
        // One command may wait for the acks of those before it, and then for its own.
        atMost(
                "redis.replica-ack-timeout",
                redis.replicaAckTimeout(),
                command.dividedBy(2),
                "half of lockkeeper.redis.command-timeout");
    }

    private void checkQuorum(Redis redis) {
        if (redis.connectionFactory() != null) {
            reject(
                    "redis.connection-factory",
                    "does not go together with lockkeeper.redis.quorum.nodes: remove one of them");
        }
        List<String> nodes = redis.quorum().nodes();
        String fault = QuorumNode.fault(nodes);
        if (fault != null) {
            // Spring Boot shows the rejected value, and it may have passwords in it.
            ((BindingResult) errors)
                    .addError(new FieldError(
                            errors.getObjectName(),
                            "redis.quorum.nodes",
                            QuorumNode.masked(nodes),
                            false,
                            new String[] {"lockkeeper"},
                            null,
                            fault));
        }
    }

    private void atLeast(String property, @Nullable Duration time, Duration least, String advice) {
        if (time != null && time.compareTo(least) < 0) {
            String limit = least.isZero() ? "not be negative" : "be " + least.toMillis() + "ms or more";
            reject(property, "must " + limit + ": " + advice + withoutUnit(time.toMillis()));
        }
    }

    /** Nothing tells whether a unit was written, so what is said is true in both cases. */
    private static String withoutUnit(long millis) {
        return millis <= 0 ? "" : "; " + millis + " without a unit is " + millis + " ms, write " + millis + "s";
    }

    private void atMost(String property, @Nullable Duration time, Duration most, String limit) {
        if (time != null && time.compareTo(most) > 0) {
            reject(property, "must be at most " + limit + ", which is " + most.toMillis() + "ms: shorten it");
        }
    }

    private void reject(String property, String message) {
        errors.rejectValue(property, "lockkeeper", message);
    }
}
