/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import javax.sql.DataSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseBuilder;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseType;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** A database with one table, {@code sale}, and transactions. */
@Configuration(proxyBeanMethods = false)
class SalesDatabase {

    @Bean
    DataSource dataSource() {
        return new EmbeddedDatabaseBuilder()
                .generateUniqueName(true)
                .setType(EmbeddedDatabaseType.H2)
                .build();
    }

    @Bean
    Sales sales(DataSource dataSource) {
        return new Sales(dataSource);
    }

    @Bean
    PlatformTransactionManager transactions(DataSource dataSource) {
        return new DataSourceTransactionManager(dataSource);
    }

    @Bean
    TransactionTemplate transactionTemplate(PlatformTransactionManager transactions) {
        return new TransactionTemplate(transactions);
    }

    /** The rows of the table. */
    static final class Sales {

        private final JdbcTemplate here;
        private final JdbcTemplate outside;

        Sales(DataSource dataSource) {
            here = new JdbcTemplate(dataSource);
            String url = here.execute((ConnectionCallback<String>)
                    connection -> connection.getMetaData().getURL());
            outside = new JdbcTemplate(new DriverManagerDataSource(url, "sa", ""));
            here.execute("create table sale (id identity primary key)");
        }

        void add() {
            here.update("insert into sale default values");
        }

        /** Returns the number of rows that everybody sees, whatever transaction this thread is in. */
        int committed() {
            Integer count = outside.queryForObject("select count(*) from sale", Integer.class);
            return count == null ? -1 : count;
        }
    }
}
