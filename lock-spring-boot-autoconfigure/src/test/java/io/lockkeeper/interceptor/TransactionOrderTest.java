/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.annotation.DistributedLocked;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseBuilder;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseType;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

class TransactionOrderTest {

    private final ApplicationContextRunner runner = runner().withPropertyValues("lockkeeper.wait-time=10s")
            .withUserConfiguration(Database.class)
            .withBean(Shop.class);

    @Test
    void whoeverGetsTheLockNextSeesTheCommittedRow() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            CompletableFuture<Integer> next = new CompletableFuture<>();
            shop.sell(() -> next.completeAsync(shop::sold));
            assertThat(next.get(10, TimeUnit.SECONDS)).isEqualTo(1);
        });
    }

    @Test
    void theOrderOfTheAdvisorIsAProperty() {
        runner.withPropertyValues("lockkeeper.advisor-order=7").run(context -> assertThat(
                        context.getBean(DistributedLockedAdvisor.class).getOrder())
                .isEqualTo(7));
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(proxyTargetClass = true)
    static class Database {
        @Bean
        JdbcTemplate jdbc() {
            JdbcTemplate jdbc = new JdbcTemplate(new EmbeddedDatabaseBuilder()
                    .generateUniqueName(true)
                    .setType(EmbeddedDatabaseType.H2)
                    .build());
            jdbc.execute("create table sale (id identity primary key)");
            return jdbc;
        }

        @Bean
        PlatformTransactionManager transactions(JdbcTemplate jdbc) {
            return new DataSourceTransactionManager(jdbc.getDataSource());
        }
    }

    static class Shop {

        private final ObjectProvider<JdbcTemplate> jdbc;

        Shop(ObjectProvider<JdbcTemplate> jdbc) {
            this.jdbc = jdbc;
        }

        @Transactional
        @DistributedLocked("stock")
        public void sell(Runnable next) {
            jdbc.getObject().update("insert into sale default values");
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void beforeCommit(boolean readOnly) {
                    // Somebody else asks for the lock before the commit, and must not have it until after.
                    next.run();
                }
            });
        }

        @DistributedLocked("stock")
        public int sold() {
            Integer count = jdbc.getObject().queryForObject("select count(*) from sale", Integer.class);
            return count == null ? -1 : count;
        }
    }
}
