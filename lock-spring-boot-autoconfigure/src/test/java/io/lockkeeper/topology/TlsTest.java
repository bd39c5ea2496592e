/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.topology.Topology.Driver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A server that is reached over TLS and wants a password, as those are that are rented. */
@Timeout(60)
class TlsTest {

    private static TlsFront front;

    @BeforeAll
    static void start(@TempDir Path folder) throws Exception {
        front = new TlsFront(RedisServer.start("--requirepass", "secret"), folder);
    }

    @AfterAll
    static void stop() throws IOException {
        front.close();
    }

    @ParameterizedTest
    @EnumSource
    void locksAreTakenGrantedAndReleased(Driver driver) throws Exception {
        try (Topology topology = connect(
                driver,
                // The first connection loads the classes of TLS, for which a busy machine takes longer than the default
                "lockkeeper.lease-time=2m",
                "lockkeeper.redis.command-timeout=30s",
                "spring.data.redis.timeout=30s",
                "spring.data.redis.connect-timeout=30s",
                "spring.data.redis.ssl.bundle=redis",
                "spring.ssl.bundle.jks.redis.truststore.location=file:" + front.certificate(),
                "spring.ssl.bundle.jks.redis.truststore.password=" + TlsFront.PASSWORD,
                "spring.ssl.bundle.jks.redis.truststore.type=PKCS12")) {
            LockTemplate template = topology.template();
            CompletableFuture<LockLease> next;
            try (LockLease lease = template.acquire("name")) {
                next = template.acquireAsync(LockRequest.of("name"));
                assertThat(lease.verify()).isTrue();
                assertThat(next).isNotDone();
            }
            next.get(30, TimeUnit.SECONDS).close();
            assertThat(template.inspector().status("name")).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aServerThatIsNotTrustedIsNoStore(Driver driver) throws Exception {
        try (Topology topology =
                connect(driver, "spring.data.redis.ssl.enabled=true", "spring.data.redis.timeout=1s")) {
            assertThatThrownBy(() -> topology.template().acquire("name")).isInstanceOf(LockStoreException.class);
        }
    }

    private Topology connect(Driver driver, String... properties) {
        String[] all = new String[properties.length + 1];
        System.arraycopy(properties, 0, all, 1, properties.length);
        all[0] = "spring.data.redis.password=secret";
        return Topology.server(() -> {}, driver, "localhost", front.port(), all);
    }
}
