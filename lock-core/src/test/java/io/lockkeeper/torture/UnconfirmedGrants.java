/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * Which holds of a worker the store has granted by a message, and neither confirmed by an answer nor been asked to
 * renew: such a one lasts for the grant time, all others for a lease. What it knows is known before the engine knows
 * it.
 */
final class UnconfirmedGrants {

    private static final String ANSWERED = "";

    /** The attempt for which the block of tokens with a first one was reserved, by the name of the lock. */
    private final Map<String, NavigableMap<Long, String>> blocks = new HashMap<>();

    private final Set<String> unconfirmed = new HashSet<>();
    private long grantMillis;

    private interface Call {
        Object to(Method method, Object[] arguments) throws ReflectiveOperationException;
    }

    /** Returns a store that does the same, and is watched. */
    LockStore watch(LockStore store) {
        return proxy(LockStore.class, (method, arguments) -> switch (method.getName()) {
            case "open" -> {
                arguments[2] = listener((StoreListener) arguments[2]);
                StoreTraits traits = (StoreTraits) method.invoke(store, arguments);
                lasts(traits.grantTime().toMillis());
                yield traits;
            }
            case "acquire" -> {
                AcquireCommand command = (AcquireCommand) arguments[0];
                yield before(method.invoke(store, arguments), reply -> answered(command, (AcquireReply) reply));
            }
            case "handOver" -> {
                HandOverCommand command = (HandOverCommand) arguments[0];
                // It may go on as that of a reader.
                confirm(command.attempt());
                yield before(
                        method.invoke(store, arguments),
                        reply -> answered(command.next(), ((HandOverReply) reply).next()));
            }
            case "renew" -> {
                ((List<?>) arguments[0]).forEach(command -> confirm(((RenewCommand) command).attempt()));
                yield method.invoke(store, arguments);
            }
            default -> method.invoke(store, arguments);
        });
    }

    private StoreListener listener(StoreListener listener) {
        return proxy(StoreListener.class, (method, arguments) -> {
            if (method.getName().equals("granted")) {
                granted((Grant) arguments[0]);
            }
            return method.invoke(listener, arguments);
        });
    }

    private static <T> T proxy(Class<T> type, Call call) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    try {
                        return call.to(method, arguments);
                    } catch (InvocationTargetException failure) {
                        throw failure.getCause();
                    }
                }));
    }

    private static CompletableFuture<Object> before(Object answer, Consumer<Object> action) {
        CompletableFuture<Object> copy = new CompletableFuture<>();
        ((CompletableFuture<?>) answer).whenComplete((reply, failure) -> {
            if (failure != null) {
                copy.completeExceptionally(failure);
            } else {
                action.accept(reply);
                copy.complete(reply);
            }
        });
        return copy;
    }

    private synchronized void lasts(long millis) {
        grantMillis = millis;
    }

    /** Of readers who share a token with others before them, and of a copy that comes late, it is not told. */
    private synchronized void granted(Grant grant) {
        String before = blocksOf(grant.name()).putIfAbsent(grant.firstToken(), grant.attempt());
        if (before == null) {
            unconfirmed.add(grant.attempt());
        } else if (!before.equals(grant.attempt())) {
            blocksOf(grant.name()).put(grant.firstToken(), ANSWERED);
        }
    }

    private synchronized void answered(AcquireCommand command, AcquireReply reply) {
        if (reply instanceof AcquireReply.Acquired acquired) {
            unconfirmed.remove(command.attempt());
            for (int i = 0; i < command.names().size(); i++) {
                blocksOf(command.names().get(i)).put(acquired.firstTokens().get(i), ANSWERED);
            }
        }
    }

    private synchronized void confirm(String attempt) {
        unconfirmed.remove(attempt);
    }

    private NavigableMap<Long, String> blocksOf(String name) {
        return blocks.computeIfAbsent(name, unseen -> new TreeMap<>());
    }

    /** Returns how long the store gave the hold with a token, which may be passed on: the grant time; or 0: a lease. */
    synchronized long millis(String name, long token) {
        Map.Entry<Long, String> block = blocksOf(name).floorEntry(token);
        return block != null && unconfirmed.contains(block.getValue()) ? grantMillis : 0;
    }
}
