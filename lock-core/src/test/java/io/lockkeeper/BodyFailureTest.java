/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.memory.MemoryLockStore;
import org.junit.jupiter.api.Test;

/** What a body throws comes to the caller as it is, whatever fails at the end of the body. */
class BodyFailureTest {

    private final Error thrown = new AssertionError("thrown by the body");
    private final LockLease lease = LockTemplate.withoutLocking().acquire("stock");

    private void run(LockedTask<Error> body, Error atTheEnd) {
        NestedLease.run(
                lease,
                given -> {
                    body.run(given);
                    return true;
                },
                () -> {
                    throw atTheEnd;
                });
    }

    @Test
    void anErrorThatComesAgainAtTheEndIsTheBodysOwn() {
        assertThatThrownBy(() -> run(
                        given -> {
                            throw thrown;
                        },
                        thrown))
                .isSameAs(thrown)
                .hasNoSuppressedExceptions();
    }

    @Test
    void aFailureOfTheEndIsSuppressed() {
        Error failure = new InternalError("as the test wants it");

        assertThatThrownBy(() -> run(
                        given -> {
                            throw thrown;
                        },
                        failure))
                .isSameAs(thrown)
                .hasSuppressedException(failure);
    }

    @Test
    void aFailureOfTheEndOfABodyThatReturnsIsTold() {
        assertThatThrownBy(() -> run(given -> {}, thrown)).isSameAs(thrown);
    }

    @Test
    void aListenerThatFailsAtTheEndHidesNothingAndKeepsNoLock() {
        LockListener failing = new LockListener() {
            @Override
            public void onBodyEnds(Body event) {
                throw new InternalError("as the test wants it");
            }

            @Override
            public void onReleased(Released event) {
                throw new InternalError("as the test wants it");
            }
        };
        try (LockTemplate template =
                LockTemplate.builder(new MemoryLockStore()).listener(failing).build()) {
            assertThatThrownBy(() -> template.run("stock", given -> {
                        throw thrown;
                    }))
                    .isSameAs(thrown);
            assertThat(template.tryAcquire("stock")).hasValueSatisfying(LockLease::close);
        }
    }
}
