package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.annotation.DistributedLocked;
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
    static class NoStore {}

    static class Shop {
        @DistributedLocked(name = "order:#id", waitTime = "soon")
        public void pay(String id) {}
    }
}
