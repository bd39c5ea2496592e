/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.webmvc.test.autoconfigure.WebMvcTest;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockMvcRequestBuilders;
import org.springframework.test.web.servlet.result.MockMvcResultMatchers;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** What a slice locks, as docs/testing.md says. */
class SliceTest {

    @Nested
    @WebMvcTest(Till.class)
    @ContextConfiguration(classes = {Application.class, Till.class})
    class OfTheWeb {

        @Test
        void locksNothing(@Autowired MockMvc web) throws Exception {
            web.perform(MockMvcRequestBuilders.get("/locked"))
                    .andExpect(MockMvcResultMatchers.content().string("false"));
        }
    }

    @Nested
    @WebMvcTest(controllers = Till.class, properties = "lockkeeper.store=memory")
    @ContextConfiguration(classes = {Application.class, Till.class})
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    class OfTheWebWithLocks {

        @Test
        void locks(@Autowired MockMvc web) throws Exception {
            assertThat(LockContext.current()).isEmpty();
            web.perform(MockMvcRequestBuilders.get("/locked"))
                    .andExpect(MockMvcResultMatchers.content().string("true"));
        }
    }

    @SpringBootConfiguration(proxyBeanMethods = false)
    static class Application {}

    @RestController
    static class Till {
        @GetMapping("/locked")
        @DistributedLocked("till")
        public boolean locked() {
            return LockContext.current().isPresent();
        }
    }
}
