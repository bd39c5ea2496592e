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
record LockkeeperPropertiesCheck(LockkeeperProperties properties, Errors errors) {

    private static final int MAX_PASSES = 9_999;

    /** Fits into every unit and clock. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    private static final String NOT_WITH_QUORUM =
            "does not go together with lockkeeper.redis.quorum.nodes: remove one of them";

    void check() {
        Duration lease = properties.leaseTime();
        Redis redis = properties.redis();
        reject(properties.keyPrefix().isBlank(), "key-prefix", "must not be blank: choose a prefix such as lockkeeper");
        atLeast("wait-time", properties.waitTime(), 0, "choose 0 to try once");
        atLeast("lease-time", lease, 1_000, "it is renewed every third of it");
        atLeast("retry-delay", properties.retryDelay(), 1, "choose a delay such as 100ms");
        int passes = properties.handover().maxPasses();
        reject(
                passes < 0 || passes > MAX_PASSES,
                "handover.max-passes",
                "must be between 0 and 9999: choose 0 to pass no lock on within this instance");
        atLeast("handover.max-time", properties.handover().maxTime(), 0, "choose a time such as 50ms");
        notForEver("handover.max-time", properties.handover().maxTime());
        atLeast("shutdown.wait", properties.shutdown().waitTime(), 0, "choose 0 not to wait");
        Duration command = redis.commandTimeout();
        atLeast("redis.command-timeout", command, 1, "choose a time such as 2s");
        atMost("redis.command-timeout", command, lease.dividedBy(3), "a third of lockkeeper.lease-time");
        atMost("redis.command-timeout", command, redis.tombstoneTime(), "lockkeeper.redis.tombstone-time");
        atLeast("redis.grant-time", redis.grantTime(), 300, "choose a time such as 3s");
        atMost("redis.grant-time", redis.grantTime(), lease, "lockkeeper.lease-time");
        atLeast("redis.poll-interval", redis.pollInterval(), 1, "choose a time such as 5s");
        atMost("redis.poll-interval", redis.pollInterval(), lease, "lockkeeper.lease-time");
        atLeast("redis.tombstone-time", redis.tombstoneTime(), 1, "choose a time such as 30s");
        atLeast("redis.replica-ack-timeout", redis.replicaAckTimeout(), 1, "choose a time such as 500ms");
        checkReplication(redis);
    }

    private void checkReplication(Redis redis) {
        String acks = redis.replicaAcks().strip();
        List<String> nodes = redis.quorum().nodes();
        boolean counted = acks.matches("\\d{1,4}|all");
        reject(!counted, "redis.replica-acks", "must be a number of replicas or all: choose 0 to wait for none");
        if (counted && !acks.matches("0+")) {
            reject(!nodes.isEmpty(), "redis.replica-acks", NOT_WITH_QUORUM);
            // One command may wait for the acks of those before it, and then for its own.
            atMost(
                    "redis.replica-ack-timeout",
                    redis.replicaAckTimeout(),
                    properties.commandTimeout().dividedBy(2),
                    "half of lockkeeper.redis.command-timeout");
        }
        if (nodes.isEmpty()) {
            return;
        }
        reject(redis.connectionFactory() != null, "redis.connection-factory", NOT_WITH_QUORUM);
        String fault = QuorumNode.fault(nodes);
        if (fault != null) {
            // Spring Boot shows the rejected value, and it may have passwords in it.
            String[] codes = {"lockkeeper"};
            ((BindingResult) errors)
                    .addError(new FieldError(
                            errors.getObjectName(),
                            "redis.quorum.nodes",
                            QuorumNode.masked(nodes),
                            false,
                            codes,
                            null,
                            fault));
        }
    }

    private void atLeast(String property, @Nullable Duration time, int millis, String advice) {
        if (time != null && time.compareTo(Duration.ofMillis(millis)) < 0) {
            String limit = millis == 0 ? "not be negative" : "be " + millis + "ms or more";
            // Nothing tells whether a unit was written, so what is said is true in both cases.
            String unit = time.isNegative() || time.toMillis() == 0
                    ? ""
                    : "; " + time.toMillis() + " without a unit is " + time.toMillis() + " ms, write " + time.toMillis()
                            + "s";
            reject(true, property, "must " + limit + ": " + advice + unit);
        }
        if (millis > 0) {
            notForEver(property, time);
        }
    }

    private void notForEver(String property, @Nullable Duration time) {
        reject(time != null && time.compareTo(LONGEST) > 0, property, "must be at most 100 years: shorten it");
    }

    private void atMost(String property, @Nullable Duration time, Duration most, String limit) {
        if (time != null && time.compareTo(most) > 0 && time.compareTo(LONGEST) <= 0) {
            reject(true, property, "must be at most " + limit + ", which is " + most.toMillis() + "ms: shorten it");
        }
    }

    private void reject(boolean isWrong, String property, String message) {
        if (isWrong) {
            errors.rejectValue(property, "lockkeeper", message);
        }
    }
}
