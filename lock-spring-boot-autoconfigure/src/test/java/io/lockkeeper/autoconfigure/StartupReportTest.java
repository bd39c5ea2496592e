/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.interceptor.DistributedLockedConfigurationException;
import io.lockkeeper.interceptor.DistributedLockedFault;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

@ExtendWith(OutputCaptureExtension.class)
class StartupReportTest {

    @Test
    void whatIsWrongWithAnnotatedMethodsIsReportedAsASpringBootFailure(CapturedOutput output) {
        assertThatThrownBy(() -> start(WrongMethods.class)).isNotNull();
        assertThat(output)
                .contains("APPLICATION FAILED TO START")
                .contains(Shop.class.getName() + ".pay(String), waitTime:", "'soon' is not a duration")
                .contains("Write a number with a unit, as in 2s, 500ms or PT2S")
                .contains(Shop.class.getName() + ".pay(String), name:", "Write order:#{#id}");
    }

    @Test
    void theReportNamesEveryFaultOfEveryAttributeAndWhatToWriteInstead(CapturedOutput output) {
        DistributedLockedConfigurationException failure =
                catchThrowableOfType(DistributedLockedConfigurationException.class, () -> start(EverythingWrong.class));
        assertThat(failure.faults())
                .extracting(DistributedLockedFault::attribute)
                .contains(
                        "value",
                        "name",
                        "waitTime",
                        "leaseTime",
                        "retryCount",
                        "retryDelay",
                        "fallbackMethod",
                        "skipWhenLocked",
                        "minHoldTime",
                        "lockTemplate");
        String[] report = output.getAll().split("Action:");
        assertThat(report).hasSize(2);
        assertThat(failure.faults()).allSatisfy(fault -> {
            assertThat(fault.place()).startsWith(Wrong.class.getName() + ".everything(String)");
            assertThat(report[0]).contains(fault.place() + ":", fault.problem());
            assertThat(fault.remedy()).isNotBlank();
            assertThat(report[1]).contains(fault.place() + ":", fault.remedy());
        });
    }

    @Test
    void aMissingStoreIsReportedAsASpringBootFailure(CapturedOutput output) {
        assertThatThrownBy(() -> start(NoStore.class)).isNotNull();
        assertThat(output)
                .contains(
                        "APPLICATION FAILED TO START",
                        "there is no RedisConnectionFactory bean",
                        "lockkeeper.store=memory");
    }

    @Test
    void theAutoConfigurationIsRegistered() {
        assertThat(ImportCandidates.load(AutoConfiguration.class, getClass().getClassLoader()))
                .contains(LockkeeperAutoConfiguration.class.getName());
    }

    private static void start(Class<?> configuration) {
        SpringApplication application = new SpringApplication(configuration);
        application.setWebApplicationType(WebApplicationType.NONE);
        String store = configuration == NoStore.class ? "redis" : "memory";
        application.run("--lockkeeper.store=" + store).close();
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    @Import(Shop.class)
    static class WrongMethods {}

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    @Import(Wrong.class)
    static class EverythingWrong {}

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    static class NoStore {}

    static class Wrong {
        @DistributedLocked(
                value = "order",
                name = {"order:#id", "#{#other}"},
                waitTime = "${nobody.set.this}",
                leaseTime = "1ms",
                retryCount = -1,
                retryDelay = "0s",
                fallbackMethod = "nowhere",
                skipWhenLocked = true,
                minHoldTime = "5",
                lockTemplate = "nowhere")
        public int everything(String id) {
            return 0;
        }
    }

    static class Shop {
        @DistributedLocked(name = "order:#id", waitTime = "soon")
        public void pay(String id) {}
    }
}
