/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.boot.context.properties.bind.validation.ValidationBindHandler;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;
import org.springframework.validation.BindingResult;
import org.springframework.validation.Errors;
import org.springframework.validation.FieldError;
import org.springframework.validation.Validator;

/**
 * Properties of Lockkeeper.
 *
 * <p>Internal: the names of the properties are promised, this type may change in any release.
 *
 * @param enabled Whether to lock. When false, everything runs unlocked.
 * @param store Where locks are kept. Redis, which needs a connection factory, unless set.
 * @param mode How annotated methods are intercepted.
 * @param keyPrefix Prefix of all keys and channels, before a colon.
 * @param waitTime How long to wait for a lock unless the request says so itself. Zero tries once.
 * @param leaseTime Time after which the locks of a crashed holder are free. Renewed every third of it.
 * @param retryDelay Time between two attempts of a request with retries unless the request says so itself.
 * @param advisorOrder Order of the lock among the advisors of a bean. Smaller values are further outside.
 * @param insideTransaction What to do when a lock is acquired inside an open transaction.
 * @param handover How long an exclusive lock may stay within this instance.
 * @param shutdown What happens at shutdown.
 * @param instanceName Name under which this instance is shown as a holder. Name of the application unless set.
 * @param redis Locks in Redis.
 */
@ConfigurationProperties("lockkeeper")
public record LockkeeperProperties(
        @DefaultValue("true") Boolean enabled,
        @Nullable StoreType store,
        @DefaultValue("proxy") Mode mode,
        @DefaultValue("lockkeeper") String keyPrefix,
        @DefaultValue("60s") Duration waitTime,
        @DefaultValue("30s") Duration leaseTime,
        @DefaultValue("100ms") Duration retryDelay,
        @DefaultValue("2147483547") Integer advisorOrder,
        @DefaultValue("warn") InsideTransaction insideTransaction,
        @DefaultValue Handover handover,
        @DefaultValue Shutdown shutdown,
        @Nullable String instanceName,
        @DefaultValue Redis redis) {

    private static final String NO_REPLICAS = "0";
    private static final Duration LONGEST_COMMAND = Duration.ofSeconds(2);

    /**
     * Takes an empty text for an unset one, and drops blanks around it, as Spring Boot does with numbers, enums and
     * booleans. Spring Boot itself refuses a time with blanks.
     */
    public LockkeeperProperties {
        // A trailing blank is easily overlooked, and instances with different prefixes do not exclude each other.
        keyPrefix = keyPrefix.strip();
        instanceName = orNull(instanceName);
    }

    private static @Nullable String orNull(@Nullable String text) {
        return StringUtils.hasText(text) ? text.strip() : null;
    }

    /** Returns the command timeout, which follows from the lease unless it is set. */
    Duration commandTimeout() {
        Duration third = leaseTime.dividedBy(3);
        Duration unset = third.compareTo(LONGEST_COMMAND) < 0 ? third : LONGEST_COMMAND;
        return Objects.requireNonNullElse(redis.commandTimeout(), unset);
    }

    /** Where locks are kept. */
    public enum StoreType {

        /** In Redis. */
        REDIS,

        /** In the memory of this process, for tests and for applications that run as one process. */
        MEMORY
    }

    /** How annotated methods are intercepted. */
    public enum Mode {

        /** By proxies of the beans. */
        PROXY,

        /** By code woven into the classes. */
        ASPECTJ
    }

    /** What to do when a lock is taken inside an open transaction. */
    public enum InsideTransaction {

        /** Go on, and warn once for each method. */
        WARN,

        /** Refuse. */
        FAIL,

        /** Go on. */
        ALLOW,

        /** Go on, and release the lock after the transaction. */
        RELEASE_AFTER_COMPLETION
    }

    /**
     * How long an exclusive lock may stay within one instance while others wait.
     *
     * @param maxPasses How often a lock passes between callers of this instance before it goes to a waiting instance.
     * @param maxTime How long a lock passes between callers of this instance before it goes to a waiting instance.
     */
    public record Handover(
            @DefaultValue("16") Integer maxPasses,
            @DefaultValue("50ms") Duration maxTime) {}

    /**
     * What happens at shutdown.
     *
     * @param waitTime How long to wait at shutdown for work that holds locks.
     */
    public record Shutdown(
            @Name("wait") @DefaultValue("25s") Duration waitTime) {}

    /**
     * Locks in Redis.
     *
     * @param connectionFactory Bean name of the connection factory. Needed only where there are several.
     * @param commandTimeout Time within which Redis must answer. 2s or a third of the lease, whichever is shorter,
     *     unless set.
     * @param grantTime Time within which a granted waiter must start. 3s or half the lease, whichever is shorter,
     *     unless set.
     * @param pollInterval Time after which a waiter asks again on its own. 5s or half the lease, whichever is shorter,
     *     unless set.
     * @param tombstoneTime How long a free lock is remembered.
     * @param replicaAcks Number of replicas that must have a lock and each renewal before it counts, or all.
     * @param replicaAckTimeout How long to wait for replicas. At most half of the command timeout.
     * @param quorum Locks on a majority of independent masters.
     */
    public record Redis(
            @Nullable String connectionFactory,
            @Nullable Duration commandTimeout,
            @Nullable Duration grantTime,
            @Nullable Duration pollInterval,
            @DefaultValue("30s") Duration tombstoneTime,
            @DefaultValue(NO_REPLICAS) String replicaAcks,
            @DefaultValue("500ms") Duration replicaAckTimeout,
            @DefaultValue Quorum quorum) {

        /** Takes empty texts for unset ones. */
        public Redis {
            connectionFactory = orNull(connectionFactory);
            replicaAcks = StringUtils.hasText(replicaAcks) ? replicaAcks.strip().toLowerCase(Locale.ROOT) : NO_REPLICAS;
        }
    }

    /**
     * Locks on a majority of independent masters.
     *
     * @param nodes URIs of independent masters, at least three and an odd number of them.
     */
    public record Quorum(@DefaultValue List<String> nodes) {}

    /**
     * Checks the range of the values, and says of each that is wrong what to change; warns of valid times that are
     * written without a unit.
     */
    record Check(LockkeeperProperties properties, Errors errors, Binder written, List<String> unitless) {

        private static final Logger log = LoggerFactory.getLogger(LockkeeperAutoConfiguration.class);

        private static final int MAX_PASSES = 9_999;

        /** Fits into every unit and clock. */
        private static final Duration LONGEST = Duration.ofDays(36_500);

        private static final String NOT_WITH_QUORUM =
                "does not go together with lockkeeper.redis.quorum.nodes: remove one of them";

        /** Returns a handler that checks the properties when they are bound. */
        static BindHandler after(BindHandler next, Environment environment) {
            return new ValidationBindHandler(
                    next, Validator.forInstanceOf(LockkeeperProperties.class, (properties, errors) -> new Check(
                                    properties, errors, Binder.get(environment), new ArrayList<>())
                            .check()));
        }

        private void check() {
            Duration lease = properties.leaseTime();
            Redis redis = properties.redis();
            String prefix = properties.keyPrefix();
            reject(prefix.isEmpty(), "key-prefix", prefix, "must not be blank: choose a prefix such as lockkeeper");
            atLeast("wait-time", properties.waitTime(), 0, "choose 0 to try once");
            atLeast("lease-time", lease, 1_000, "it is renewed every third of it");
            atLeast("retry-delay", properties.retryDelay(), 1, "choose a delay such as 100ms");
            Handover handover = properties.handover();
            int passes = handover.maxPasses();
            reject(
                    passes < 0 || passes > MAX_PASSES,
                    "handover.max-passes",
                    passes,
                    "must be between 0 and 9999: choose 0 to pass no lock on within this instance");
            atLeast("handover.max-time", handover.maxTime(), 0, "choose a time such as 50ms");
            notForEver("handover.max-time", handover.maxTime());
            atLeast("shutdown.wait", properties.shutdown().waitTime(), 0, "choose 0 not to wait");
            atLeast("redis.command-timeout", redis.commandTimeout(), 1, "choose a time such as 2s");
            atMost(
                    "redis.command-timeout",
                    redis.commandTimeout(),
                    lease.dividedBy(3),
                    "a third of lockkeeper.lease-time");
            atLeast("redis.grant-time", redis.grantTime(), 300, "choose a time such as 3s");
            atMost("redis.grant-time", redis.grantTime(), lease, "lockkeeper.lease-time");
            atLeast("redis.poll-interval", redis.pollInterval(), 1, "choose a time such as 5s");
            atMost("redis.poll-interval", redis.pollInterval(), lease, "lockkeeper.lease-time");
            // Where it is not set, it follows from the lease.
            Duration command = properties.commandTimeout();
            if (command.compareTo(LONGEST) <= 0) {
                atLeast(
                        "redis.tombstone-time",
                        redis.tombstoneTime(),
                        command,
                        "be at least lockkeeper.redis.command-timeout, which is " + command.toMillis() + "ms",
                        "lengthen it, or shorten that");
            }
            notForEver("redis.tombstone-time", redis.tombstoneTime());
            atLeast("redis.replica-ack-timeout", redis.replicaAckTimeout(), 1, "choose a time such as 500ms");
            checkReplication(redis);
            if (!errors.hasErrors()) {
                unitless.forEach(log::warn);
            }
        }

        private void checkReplication(Redis redis) {
            String acks = redis.replicaAcks();
            List<String> nodes = redis.quorum().nodes();
            boolean counted = acks.matches("\\d{1,4}|all");
            String none = "must be a number of replicas or all: choose 0 to wait for none";
            reject(!counted, "redis.replica-acks", acks, none);
            if (counted && !acks.matches("0+")) {
                reject(!nodes.isEmpty(), "redis.replica-acks", acks, NOT_WITH_QUORUM);
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
            String factory = redis.connectionFactory();
            reject(factory != null, "redis.connection-factory", factory, NOT_WITH_QUORUM);
            String fault = QuorumNode.fault(nodes);
            reject(fault != null, "redis.quorum.nodes", QuorumNode.masked(nodes), String.valueOf(fault));
        }

        private void atLeast(String property, @Nullable Duration time, int millis, String advice) {
            String limit = millis == 0 ? "not be negative" : "be " + millis + "ms or more";
            atLeast(property, time, Duration.ofMillis(millis), limit, advice);
            if (millis > 0) {
                notForEver(property, time);
            }
        }

        private void atLeast(String property, @Nullable Duration time, Duration least, String limit, String advice) {
            String name = "lockkeeper." + property;
            String text = written.bind(name, String.class).orElse("");
            boolean isUnitless = text.matches("\\+?0*[1-9]\\d*");
            String unit = text + " without a unit is " + text + " ms, write " + text + "s";
            if (time != null && time.compareTo(least) < 0) {
                reject(
                        true,
                        property,
                        time,
                        "must " + limit + ": " + advice + (isUnitless ? "; " + unit : unset(property)));
            } else if (isUnitless) {
                unitless.add(name + ": " + unit + ", or " + text + "ms if that is meant");
            }
        }

        private void notForEver(String property, @Nullable Duration time) {
            boolean isLonger = time != null && time.compareTo(LONGEST) > 0;
            reject(isLonger, property, time, "must be at most 100 years: shorten it");
        }

        private void atMost(String property, @Nullable Duration time, Duration most, String limit) {
            if (time != null && time.compareTo(most) > 0 && time.compareTo(LONGEST) <= 0) {
                String which = limit + ", which is " + most.toMillis() + "ms";
                String advice = ": shorten it, or lengthen that" + unset(property);
                reject(true, property, time, "must be at most " + which + advice);
            }
        }

        /** Returns what to add where a time is blamed that only has its default. */
        private String unset(String property) {
            return written.bind("lockkeeper." + property, String.class).isBound()
                    ? ""
                    : "; it is not set, and this is its default";
        }

        /** With the value: Spring Boot knows none of those that are not set, and would show passwords. */
        private void reject(boolean isWrong, String property, @Nullable Object value, String message) {
            if (isWrong) {
                String[] codes = {"lockkeeper"};
                ((BindingResult) errors)
                        .addError(new FieldError(errors.getObjectName(), property, value, false, codes, null, message));
            }
        }
    }
}
