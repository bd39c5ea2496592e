/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RegisterTest {

    @Test
    void aGuardedRegisterRefusesWhoeverComesAfterAHigherToken() throws Exception {
        try (Register register = new Register(true);
                RegisterClient old = new RegisterClient(register.port());
                RegisterClient next = new RegisterClient(register.port())) {
            assertThat(old.read("a", 5)).hasValue(0);
            assertThat(next.read("a", 6)).hasValue(0);
            assertThat(old.write("a", 5, 1)).isEmpty();
            assertThat(next.write("a", 6, 1)).hasValue(1);
            assertThat(old.read("a", 5)).isEmpty();
            assertThat(old.read("b", 5)).hasValue(0);
            assertThat(register.violations()).isEmpty();
            assertThat(register.accepted()).isEqualTo(1);
            assertThat(register.refused()).isEqualTo(2);
        }
    }

    @Test
    void anUnguardedRegisterTakesAStaleWriteAndSaysSo() {
        try (Register register = new Register(false)) {
            register.read("a", 5);
            register.read("a", 6);
            register.write("a", 6, 1);
            register.write("a", 5, 1);
            assertThat(register.violations())
                    .containsExactly(
                            "A stale write to 'a': token 5 after 6", "A lost update of 'a': 1 after 1 by token 5");
        }
    }

    @Test
    void twoHoldersOfOneTokenLoseAnUpdate() {
        try (Register register = new Register(true)) {
            register.read("a", 5);
            register.write("a", 5, 1);
            register.write("a", 5, 1);
            assertThat(register.violations()).singleElement().asString().contains("A lost update of 'a'");
        }
    }
}
