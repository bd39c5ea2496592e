/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.validation.Errors;
import org.springframework.validation.Validator;

/**
 * Properties of Lockkeeper.
 *
 * <p>Internal: the names of the properties are promised, this type may change in any release.
 *
 * @param enabled Whether to lock. When false, everything runs unlocked.
 * @param store Where locks are kept. Redis if there is a connection factory, unless set.
 * @param mode How annotated methods are intercepted.
 * @param keyPrefix Prefix of all keys and channels, before a colon.
 * @param waitTime How long to wait for a lock unless the request says so itself. Zero tries once.
 * @param leaseTime Time after which the locks of a crashed holder are free. Renewed every third of it.
 * @param retryDelay Time between two attempts of a request with retries unless it says so itself.
 * @param advisorOrder Order of the lock among the advisors of a bean. Smaller values are further outside.
 * @param insideTransaction What to do when a lock is taken inside a transaction that is open already.
 * @param handover How long an exclusive lock may stay within this instance.
 * @param shutdown What happens at shutdown.
 * @param instanceName Name of this instance for people who ask who holds a lock. Name of the application unless set.
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
        @DefaultValue("2147483547") int advisorOrder,
        @DefaultValue("warn") InsideTransaction insideTransaction,
        @DefaultValue Handover handover,
        @DefaultValue Shutdown shutdown,
        @Nullable String instanceName,
        @DefaultValue Redis redis)
        implements Validator {

    private static final Duration LONGEST_COMMAND = Duration.ofSeconds(2);

    @Override
    public boolean supports(Class<?> type) {
        return type == LockkeeperProperties.class;
    }

    @Override
    public void validate(Object target, Errors errors) {
        new LockkeeperPropertiesCheck((LockkeeperProperties) target, errors).check();
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
     * @param maxPasses How often a lock passes between callers of this instance before other instances that wait have their turn.
     * @param maxTime How long a lock passes between callers of this instance before other instances that wait have their turn.
     */
    public record Handover(
            @DefaultValue("16") int maxPasses,
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
     * @param commandTimeout Time within which Redis must answer. 2s or a third of the lease, unless set.
     * @param grantTime Time within which a granted waiter must start. 3s or half the lease, unless set.
     * @param pollInterval Time after which a waiter asks again on its own. 5s or half the lease, unless set.
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
            @DefaultValue("0") String replicaAcks,
            @DefaultValue("500ms") Duration replicaAckTimeout,
            @DefaultValue Quorum quorum) {}

    /**
     * Locks on a majority of independent masters.
     *
     * @param nodes URIs of independent masters, at least three and an odd number of them.
     */
    public record Quorum(@DefaultValue List<String> nodes) {}
}
