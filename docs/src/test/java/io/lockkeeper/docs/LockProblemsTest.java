/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.content;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.header;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.docs.example.LockProblems;
import io.lockkeeper.test.LockFaults;
import io.lockkeeper.test.LockFaultsExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** The answers over HTTP that the guide shows. */
class LockProblemsTest {

    @RegisterExtension
    static final LockFaultsExtension locks = LockFaultsExtension.inMemory();

    @RestController
    static class Orders {

        private final LockTemplate template;

        Orders(LockTemplate template) {
            this.template = template;
        }

        @PostMapping("/orders")
        String order() {
            LockRequest stock = LockRequest.of("stock").withWaitTime(Duration.ZERO);
            return template.execute(stock, lease -> "sold");
        }

        @PostMapping("/lost")
        String lost() {
            return template.execute("stock", lease -> {
                template.inspector().forceRelease("stock");
                lease.ensureHeld();
                return "sold";
            });
        }

        @PostMapping("/upgrade")
        String upgrade() {
            LockRequest stock = LockRequest.of("stock");
            return template.execute(
                    stock.withMode(LockMode.READ),
                    reading -> template.execute(stock.withMode(LockMode.WRITE), writing -> "sold"));
        }
    }

    @Test
    void failuresToLockAreProblemsThatSayWhenToTryAgain(LockTemplate template, LockFaults faults) throws Exception {
        MockMvc http = MockMvcBuilders.standaloneSetup(new Orders(template))
                .setControllerAdvice(new LockProblems())
                .build();
        http.perform(post("/orders"))
                .andExpect(status().isOk())
                .andExpect(content().string("sold"));
        try (AutoCloseable held = faults.hold("stock")) {
            http.perform(post("/orders"))
                    .andExpect(status().isConflict())
                    .andExpect(header().string("Retry-After", "1"))
                    .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON))
                    .andExpect(jsonPath("$.status").value(409))
                    .andExpect(jsonPath("$.detail").value("Another request works on this"));
        }
        faults.storeDown();
        http.perform(post("/orders"))
                .andExpect(status().isServiceUnavailable())
                .andExpect(header().string("Retry-After", "5"))
                .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON))
                .andExpect(jsonPath("$.status").value(503));
    }

    @Test
    void whatARepetitionDoesNotMendIsNoProblemThatSaysWhenToTryAgain(LockTemplate template) {
        MockMvc http = MockMvcBuilders.standaloneSetup(new Orders(template))
                .setControllerAdvice(new LockProblems())
                .build();
        assertThatThrownBy(() -> http.perform(post("/lost"))).hasCauseInstanceOf(LockLostException.class);
        assertThatThrownBy(() -> http.perform(post("/upgrade"))).hasCauseInstanceOf(LockUpgradeException.class);
    }

    @Test
    void theGuideShowsWhatIsTried() throws IOException {
        Path source = Pages.project().resolve("docs/src/test/java/io/lockkeeper/docs/example/LockProblems.java");
        String code = Files.readString(source);
        String shown = code.substring(code.indexOf("@RestControllerAdvice\n"))
                .replace("public class", "class")
                .strip();
        assertThat(CodeBlock.in("java"))
                .anySatisfy(block -> assertThat(block.text()).contains(shown));
    }
}
