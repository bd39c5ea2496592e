/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class QuorumNodeTest {

    @Test
    void aUriHasEverythingThatAConnectionNeeds() {
        assertThat(QuorumNode.parse("redis://one.example"))
                .isEqualTo(new QuorumNode("one.example", 6379, null, null, 0, false));
        assertThat(QuorumNode.parse(" rediss://me:p%40ss%3A+@One.example:7000/3 "))
                .isEqualTo(new QuorumNode("one.example", 7000, "me", "p@ss:+", 3, true));
        assertThat(QuorumNode.parse("redis://:secret@[::1]:7000/"))
                .isEqualTo(new QuorumNode("[::1]", 7000, null, "secret", 0, false));
        assertThat(QuorumNode.parse("redis://secret@one.example").password()).isEqualTo("secret");
    }

    @Test
    void aNodeIsShownWithoutItsPassword() {
        assertThat(QuorumNode.parse("redis://me:secret@one.example:7000/3")).hasToString("one.example:7000");
    }
}
