/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.memory.MemoryLockStore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a body throws comes to the caller as it is, whatever fails at the end of the body. */
class BodyFailureTest {

    private final Error thrown = new AssertionError("thrown by the body");
    private final LockTemplate template =
            LockTemplate.builder(new MemoryLockStore()).build();

    @AfterEach
    void close() {
        template.close();
    }

    /** A callback that fails where it is taken back, which is at the end of its level. */
    private static void failAtTheEnd(LockLease lease, Error failure) {
        lease.onLost(new Consumer<>() {
            @Override
            public void accept(LockLostException lost) {
                throw failure;
            }

            @Override
            public boolean equals(@Nullable Object other) {
                throw failure;
            }

            @Override
            public int hashCode() {
                return 1;
            }
        });
    }

    private void assertFree() {
        assertThat(template.tryAcquire("stock")).hasValueSatisfying(LockLease::close);
    }

    @Test
    void anErrorThatComesAgainAtTheEndIsTheBodysOwn() {
        assertThatThrownBy(() -> template.run("stock", lease -> {
                    failAtTheEnd(lease, thrown);
                    throw thrown;
                }))
                .isSameAs(thrown)
                .hasNoSuppressedExceptions();

        assertFree();
    }

    @Test
    void aFailureOfTheEndIsSuppressed() {
        Error failure = new InternalError("as the test wants it");

        assertThatThrownBy(() -> template.execute("stock", lease -> {
                    failAtTheEnd(lease, failure);
                    throw thrown;
                }))
                .isSameAs(thrown)
                .hasSuppressedException(failure);

        assertFree();
    }

    @Test
    void aFailureOfTheEndOfABodyThatReturnsIsTold() {
        assertThatThrownBy(() -> template.run("stock", lease -> failAtTheEnd(lease, thrown)))
                .isSameAs(thrown);

        assertFree();
    }
}
