/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.Transactional;

/** Runs in a JVM of its own; all of its methods with locks have transactions, too. */
public final class TransactionalApplication {

    private TransactionalApplication() {}

    /** Starts the application, and prints what is held. */
    public static void main(String[] args) {
        SpringApplication application = new SpringApplication(Beans.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        try (ConfigurableApplicationContext context = application.run(args)) {
            System.out.println("held " + context.getBean(Seller.class).sell());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    static class Beans {
        @Bean
        Seller seller() {
            return new Seller();
        }
    }

    static class Seller {
        @Transactional
        @DistributedLocked("sale")
        public List<String> sell() {
            return LockContext.current().map(LockLease::names).orElse(List.of("nothing"));
        }
    }
}
