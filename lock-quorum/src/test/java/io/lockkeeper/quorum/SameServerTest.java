/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Two addresses that lead to the same server: it would have two votes. */
@Timeout(60)
class SameServerTest {

    private final List<RedisConnectionFactory> connections = new ArrayList<>();
    private final RedisServer one = RedisServer.start();
    private final RedisServer other = RedisServer.start();
    private final FaultProxy address = FaultProxy.inFrontOf(one);

    @AfterEach
    void close() {
        connections.forEach(Connections::close);
        address.close();
        one.close();
        other.close();
    }

    private LockTemplate template() {
        return template(connectionsTo(address.port()));
    }

    private RedisConnectionFactory connectionsTo(int port) {
        RedisConnectionFactory own = Connections.JEDIS.to(port);
        connections.add(own);
        return own;
    }

    private LockTemplate template(RedisConnectionFactory third) {
        List<RedisLockStore> masters = Stream.of(connectionsTo(one.port()), connectionsTo(other.port()), third)
                .map(own -> new RedisLockStore(own, RedisLockStore.Options.defaults()))
                .toList();
        return LockTemplate.builder(new QuorumLockStore(masters))
                .leaseTime(Duration.ofSeconds(10))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    @Test
    void isRefusedAtTheStart() {
        assertThatThrownBy(this::template)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(
                        "master 1 (Redis at 127.0.0.1:" + one.port(), "master 3 (Redis at 127.0.0.1:" + address.port());
    }

    @Test
    void hasNoSecondVoteWhereItIsReachedLater() {
        RedisServer away = RedisServer.start();
        address.moveTo(away);
        away.close();
        try (LockTemplate template = template()) {
            template.run("stock", lease -> {});
            address.moveTo(one);
            assertNoSecondVote(template, "master 3: The masters of a quorum must be different servers");
        }
    }

    /** A restarted server has another run id than the one that it told under its first name. */
    @Test
    void hasNoSecondVoteWhereItWasRestartedBeforeItIsReached() {
        RedisServer away = RedisServer.start();
        address.moveTo(away);
        away.close();
        try (LockTemplate template = template()) {
            template.run("stock", lease -> {});
            one.kill();
            one.restart();
            Awaitility.await().ignoreExceptions().until(() -> template.tryRun("stock", lease -> {}));
            address.moveTo(one);
            assertNoSecondVote(template, "The masters of a quorum must be different servers");
        }
    }

    @Test
    void hasNoVoteWhereItDoesNotTellWhoItIs() {
        one.command("ACL SETUSER silent on >secret ~* &* +@all -info".split(" "));
        RedisConnectionFactory own = Connections.JEDIS.to(address.port(), "silent", "secret");
        connections.add(own);
        try (LockTemplate template = template(own)) {
            Awaitility.await().ignoreExceptions().until(() -> template.tryRun("stock", lease -> {}));
            assertNoSecondVote(template, "permit its Redis user to run INFO (ACL +info)");
        }
    }

    /** One server under two names is no majority: without the other one there is none. */
    private void assertNoSecondVote(LockTemplate template, String message) {
        other.kill();
        Awaitility.await().untilAsserted(() -> assertThatThrownBy(() -> template.acquire("stock"))
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining(message));
        other.restart();
        Awaitility.await().ignoreExceptions().until(() -> template.tryRun("stock", lease -> {}));
        assertThat(one.owner("lockkeeper:lock:stock")).isEmpty();
    }
}
