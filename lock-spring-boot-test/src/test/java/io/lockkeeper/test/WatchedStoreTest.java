/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.IgnoredMessages;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class WatchedStoreTest {

    @Test
    void aHolderHearsThatAnotherInstanceWaits() {
        List<String> awaited = new CopyOnWriteArrayList<>();
        String client = ClientIds.next();
        String holder = client + "00000001";
        try (LockStore store = new LockFaults().watch(new MemoryLockStore())) {
            store.open(StoredInstance.ofThisProcess(client, "", ""), Duration.ofSeconds(10), new IgnoredMessages() {
                @Override
                public void awaited(String attempt) {
                    awaited.add(attempt);
                }
            });
            store.acquire(command(holder, AcquireCommand.MOST_TOKENS)).join();
            store.acquire(command(ClientIds.next() + "00000001", 1)).join();
            Awaitility.await().until(() -> awaited.contains(holder));
        }
    }

    static Stream<Method> methods() {
        return Arrays.stream(LockStore.class.getMethods());
    }

    /** One that has a default would stop there. */
    @ParameterizedTest
    @MethodSource("methods")
    void everyMethodOfAStoreReachesTheRealOne(Method method) throws ReflectiveOperationException {
        List<Method> called = new ArrayList<>();
        Duration second = Duration.ofSeconds(1);
        LockStore real = (LockStore) Proxy.newProxyInstance(
                LockStore.class.getClassLoader(), new Class<?>[] {LockStore.class}, (self, asked, arguments) -> {
                    called.add(asked);
                    Class<?> type = asked.getReturnType();
                    return type == StoreTraits.class
                            ? new StoreTraits(second, second, second, true)
                            : type == void.class ? null : Array.get(Array.newInstance(type, 1), 0);
                });
        Object[] arguments = Arrays.stream(method.getParameterTypes())
                .map(type -> type.isPrimitive() ? 0 : null)
                .toArray();
        method.invoke(new LockFaults().watch(real), arguments);
        assertThat(called).containsExactly(method);
    }

    private static AcquireCommand command(String attempt, int tokens) {
        return new AcquireCommand(List.of("x"), attempt, ClaimMode.EXCLUSIVE, 10_000, true, tokens);
    }
}
