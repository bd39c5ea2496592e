/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.LockkeeperProperties.Mode;
import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import java.util.List;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;

/**
 * What the properties choose. Decided on bound values, as in {@link LockkeeperProperties}: a value may be written in
 * several ways, an empty one is an unset one, and one that does not bind stops the start.
 */
enum Switch {

    /** Callers wait for locks. */
    ENABLED,

    /** Everything runs unlocked. */
    DISABLED,

    /** Annotated methods are locked by proxies. */
    PROXY,

    /** Annotated methods are locked by code that is woven in. */
    ASPECTJ,

    /** Locks are kept in Redis. */
    REDIS,

    /** Locks are kept on a majority of the masters that are named, in one value or in an element for each. */
    QUORUM,

    /** Locks are kept in the memory of this process. */
    MEMORY;

    /** Returns whether the properties choose this. */
    boolean isOn(Binder values) {
        return switch (this) {
            case ENABLED -> isEnabled(values);
            case DISABLED -> !isEnabled(values);
            case PROXY -> mode(values) == Mode.PROXY;
            case ASPECTJ -> mode(values) == Mode.ASPECTJ;
            case REDIS -> store(values) == StoreType.REDIS;
            case QUORUM -> store(values) == StoreType.REDIS && hasNodes(values);
            case MEMORY -> store(values) == StoreType.MEMORY;
        };
    }

    private static boolean isEnabled(Binder values) {
        return values.bind("lockkeeper.enabled", Boolean.class).orElse(true);
    }

    private static boolean hasNodes(Binder values) {
        return !values.bind("lockkeeper.redis.quorum.nodes", Bindable.listOf(String.class))
                .orElse(List.of())
                .isEmpty();
    }

    private static Mode mode(Binder values) {
        return values.bind("lockkeeper.mode", Mode.class).orElse(Mode.PROXY);
    }

    private static StoreType store(Binder values) {
        return values.bind("lockkeeper.store", StoreType.class).orElse(StoreType.REDIS);
    }
}
