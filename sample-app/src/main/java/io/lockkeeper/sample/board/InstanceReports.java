/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import java.util.List;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;
import tools.jackson.databind.json.JsonMapper;

/** The reports of all running instances, in the database that they share. */
@Repository
class InstanceReports {

    private final JdbcClient jdbc;
    private final JsonMapper json = JsonMapper.shared();

    InstanceReports(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    void publish(InstanceReport report) {
        jdbc.sql("merge into instances (name, report, seen) key (name) values (?, ?, current_timestamp)")
                .params(report.name(), json.writeValueAsString(report))
                .update();
    }

    void withdraw(String name) {
        jdbc.sql("delete from instances where name = ?").param(name).update();
    }

    /** Returns the reports of the instances that were heard a moment ago, in the order of their names. */
    List<InstanceReport> current() {
        return jdbc
                .sql("select report from instances where seen > dateadd(second, -5, current_timestamp) order by name")
                .query(String.class)
                .list()
                .stream()
                .map(report -> json.readValue(report, InstanceReport.class))
                .toList();
    }
}
