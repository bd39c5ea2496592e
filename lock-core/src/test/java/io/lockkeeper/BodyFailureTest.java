/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
}
