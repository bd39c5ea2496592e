/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.tracing.Tracing;
import io.netty.channel.DefaultEventLoop;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is written together, and what becomes of commands that cannot be written. */
class SharedConnectionTest {

    private static final Duration SOON = Duration.ofSeconds(10);

    private final DefaultEventLoop loop = new DefaultEventLoop();

    /** What the connection was given: a command, or several. */
    private final BlockingQueue<Object> given = new LinkedBlockingQueue<>();

    private volatile boolean refuses;

    @AfterEach
    void end() {
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
    }

    /** Returns one whose loop is known, and which does nothing else. */
    @SuppressWarnings("unchecked")
    private SharedConnection shared(Class<?> type) {
        ClientResources resources = proxy(ClientResources.class, (proxy, method, arguments) -> Tracing.disabled());
        StatefulConnection<byte[], byte[]> connection =
                (StatefulConnection<byte[], byte[]>) proxy(type, (proxy, method, arguments) -> {
                    if (method.getName().equals("getResources")) {
                        return resources;
                    }
                    if (refuses) {
                        throw new RedisException("as the test wants it");
                    }
                    given.add(arguments[0]);
                    return null;
                });
        SharedConnection shared = new SharedConnection(connection);
        loop.submit(shared::answered).syncUninterruptibly();
        return shared;
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static AsyncCommand<byte[], byte[], byte[]> command() {
        return new AsyncCommand<>(new Command<>(CommandType.PING, new ValueOutput<>(ByteArrayCodec.INSTANCE)));
    }

    private Object nextGiven() throws InterruptedException {
        return given.poll(SOON.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Test
    void commandsThatWaitForTheLoopAreWrittenAtOnce() throws Exception {
        SharedConnection shared = shared(StatefulRedisConnection.class);
        List<AsyncCommand<byte[], byte[], byte[]>> commands = List.of(command(), command(), command());
        CountDownLatch busy = new CountDownLatch(1);
        loop.submit(() -> {
            busy.await();
            return null;
        });
        commands.forEach(shared::send);
        assertThat(given).isEmpty();
        busy.countDown();
        assertThat(nextGiven()).isEqualTo(commands);
        AsyncCommand<byte[], byte[], byte[]> later = command();
        shared.send(later);
        assertThat(nextGiven()).isSameAs(later);
    }

    @Test
    void aLoopThatHasEndedIsNotWaitedFor() {
        SharedConnection shared = shared(StatefulRedisConnection.class);
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
        AsyncCommand<byte[], byte[], byte[]> first = command();
        AsyncCommand<byte[], byte[], byte[]> second = command();
        shared.send(first);
        shared.send(second);
        assertThat(given).containsExactly(first, second);
    }

    @Test
    void commandsThatLettuceRefusesFail() {
        SharedConnection shared = shared(StatefulRedisConnection.class);
        refuses = true;
        AsyncCommand<byte[], byte[], byte[]> refused = command();
        shared.send(refused);
        CompletableFuture<byte[]> answer = refused;
        assertThat(answer).failsWithin(SOON).withThrowableThat().withMessageContaining("as the test wants it");
    }

    /** One to a cluster waits for connections to its nodes where it is given several commands. */
    @Test
    void aConnectionToAClusterIsGivenCommandsOneByOne() {
        SharedConnection shared = shared(StatefulRedisClusterConnection.class);
        AsyncCommand<byte[], byte[], byte[]> command = command();
        shared.send(command);
        assertThat(given).containsExactly(command);
    }
}
