/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** There is no lock store, or none could be chosen. Says what to change. */
final class LockStoreConfigurationException extends IllegalStateException {

    private static final long serialVersionUID = 1L;
    private static final String NAME_IT = "Set lockkeeper.redis.connection-factory to the name of one of these beans: ";

    private final String action;

    private LockStoreConfigurationException(String problem, String action) {
        super(problem);
        this.action = action;
    }

    static LockStoreConfigurationException noStore(@Nullable StoreType wanted) {
        return new LockStoreConfigurationException(
                "Lockkeeper has no place to keep locks: "
                        + (wanted == StoreType.REDIS ? "lockkeeper.store is redis, but " : "")
                        + "spring-data-redis is not on the class path.",
                "Add org.springframework.boot:spring-boot-starter-data-redis, or set lockkeeper.store=memory for an"
                        + " application that runs as one process.");
    }

    static LockStoreConfigurationException noQuorum() {
        return new LockStoreConfigurationException(
                "lockkeeper.redis.quorum.nodes needs the module lock-quorum: add the dependency"
                        + " io.lockkeeper:lock-quorum.",
                "Add the dependency io.lockkeeper:lock-quorum.");
    }

    static LockStoreConfigurationException noJedis() {
        return new LockStoreConfigurationException(
                "Lockkeeper cannot connect to the masters of lockkeeper.redis.quorum.nodes: Jedis is not on the class path.",
                "Add redis.clients:jedis, whatever client the application itself uses.");
    }

    static LockStoreConfigurationException noConnectionFactory() {
        return new LockStoreConfigurationException(
                "Lockkeeper has no place to keep locks: there is no RedisConnectionFactory bean.",
                "Let Spring Boot create one, by setting spring.data.redis.host and having Jedis or Lettuce on the class"
                        + " path, or define one, or set lockkeeper.store=memory for an application that runs as one"
                        + " process.");
    }

    static LockStoreConfigurationException severalConnectionFactories(List<String> names) {
        return new LockStoreConfigurationException(
                "Lockkeeper cannot choose among several RedisConnectionFactory beans: " + names + ".",
                NAME_IT + names + ", or make one of them @Primary.");
    }

    static LockStoreConfigurationException unknownConnectionFactory(String name, List<String> names) {
        return new LockStoreConfigurationException(
                "lockkeeper.redis.connection-factory is '" + name + "', but there is no RedisConnectionFactory bean of"
                        + " this name.",
                names.isEmpty() ? "Define a RedisConnectionFactory bean of this name." : NAME_IT + names + ".");
    }

    /** The environment may be another one than that in which the beans were chosen. */
    static LockStoreConfigurationException chosenOtherwise(String property, String then, String now) {
        return new LockStoreConfigurationException(
                property + " is " + now + ", but was " + then + " when the beans of this application were chosen, which"
                        + " ahead-of-time processing does when it is built: it would run without locks that others see.",
                "Build the application with " + property + "=" + now + ", or run it with " + property + "=" + then
                        + ".");
    }

    /** Returns what to change. */
    String action() {
        return action;
    }
}
