/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.http.server.PathContainer;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/** The name of a lock in the path of a request, however the path of the endpoint is written. */
class LockPathTest {

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            value = {
                "/actuator/locks/a//b, a//b",
                "/%61ctuator/locks/a//b, a//b",
                "/actuator;v=1/locks/a//b, a//b",
                "/actuator/locks;v=1/e;f, e;f",
                "/actuator/locks//c, /c",
                "/actuator/locks/d%20e/, 'd e/'",
                "/actuator/locks, none",
                "/actuator/other/a, none",
                "/other/locks/a, none",
            })
    void theNameIsWhatFollowsTheEndpoint(String path, String name) {
        assertThat(LockPath.nameAfter("/actuator/locks", PathContainer.parsePath(path)))
                .isEqualTo(name);
    }

    @ParameterizedTest
    @CsvSource({"/locks/a//b, a//b", "/%6cocks/a//b, a//b"})
    void anEndpointAtTheRootIsFoundToo(String path, String name) {
        assertThat(LockPath.nameAfter("/locks", PathContainer.parsePath(path))).isEqualTo(name);
    }

    /**
     * As under Jersey, which drops empty segments and tells nothing of the path: {@code a//b} must not be {@code a/b}.
     */
    @Test
    void aServletRequestWithoutItsPathHasNoName() {
        RequestContextHolder.setRequestAttributes(new ServletRequestAttributes(new MockHttpServletRequest()));
        try {
            assertThatExceptionOfType(InvalidEndpointRequestException.class)
                    .isThrownBy(() -> LockPath.exactName("a", "b"))
                    .withMessageContaining("give it as the parameter name");
        } finally {
            RequestContextHolder.resetRequestAttributes();
        }
        assertThat(LockPath.exactName("a", "b")).isEqualTo("a/b");
    }
}
