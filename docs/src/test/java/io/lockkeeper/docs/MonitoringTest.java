/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The dashboard and the alert rules ask for nothing but what an application really produces. */
class MonitoringTest {

    private static final Path FOLDER = Pages.project().resolve("docs/monitoring");
    private static final Pattern SAMPLE = Pattern.compile("(?m)^([a-z_]+)(?:\\{(.*)})? \\S+$");
    /** A time in brackets, which may be a variable, or a number with its unit. */
    private static final Pattern WINDOW = Pattern.compile("\\[[^]]*]|(?<![\\w:])[0-9.]+\\w*");

    private static final Pattern METRIC = Pattern.compile("([A-Za-z_:][\\w:]*)(?!\\s*\\(|[\\w:])(?:\\{([^}]*)})?");
    private static final Set<String> OPERATORS = Set.of("and", "or", "unless", "bool", "offset");
    private static final Pattern TAG = Pattern.compile("(\\w+)\\s*(?:=~|!~|!=|=)\\s*\"");
    private static final Pattern GROUPING =
            Pattern.compile("\\b(?:by|without|on|ignoring|group_left|group_right)\\s*\\(([^)]*)\\)");
    private static final Pattern VALUES = Pattern.compile("label_values\\((\\w+), (\\w+)\\)");
    private static final Pattern LEGEND = Pattern.compile("\\{\\{\\s*(\\w+)\\s*}}");
    private static final Pattern SHOWN = Pattern.compile("\\$labels\\.(\\w+)");

    /** What Prometheus adds to each sample. */
    private static final Set<String> TARGET = Set.of("instance", "job");

    private static final Map<String, Set<String>> tagsOf = new HashMap<>();
    private static final Map<String, String> help = new HashMap<>();

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {}

    @BeforeAll
    static void scrapeAnApplication() {
        try (ConfigurableApplicationContext shop = new SpringApplicationBuilder(Shop.class)
                .web(WebApplicationType.NONE)
                .properties(
                        "spring.main.banner-mode=off",
                        "lockkeeper.store=memory",
                        "lockkeeper.shutdown.wait=0",
                        "spring.datasource.url=jdbc:none:",
                        "spring.autoconfigure.exclude="
                                + "com.baomidou.lock.spring.boot.autoconfigure.LockAutoConfiguration,"
                                + "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
                .run()) {
            LockTemplate template = shop.getBean(LockTemplate.class);
            LockLease lost = template.acquire("lost");
            shop.getBean(LockInspector.class).forceRelease("lost");
            Awaitility.await().until(() -> !lost.isHeld());
            try (LockLease held = template.acquire("held")) {
                assertThat(held.isHeld()).isTrue();
                LockRequest request = LockRequest.of("held").withWaitTime(Duration.ofMillis(1));
                assertThat(template.tryAcquire(request)).isEmpty();
                read(shop.getBean(PrometheusMeterRegistry.class).scrape());
            }
        }
    }

    private static void read(String scrape) {
        for (MatchResult sample : SAMPLE.matcher(scrape).results().toList()) {
            Set<String> tags = tagsOf.computeIfAbsent(sample.group(1), name -> new HashSet<>());
            if (sample.group(2) != null) {
                TAG.matcher(sample.group(2)).results().forEach(tag -> tags.add(tag.group(1)));
            }
        }
        Pattern.compile("(?m)^# HELP (\\S+) *(.*)$")
                .matcher(scrape)
                .results()
                .forEach(line -> help.put(line.group(1), line.group(2)));
    }

    @Test
    void theDashboardAsksForWhatThereIs() throws IOException {
        JsonNode dashboard = JsonMapper.shared().readTree(Files.readString(FOLDER.resolve("grafana-dashboard.json")));
        List<String> questions = dashboard.findValuesAsString("expr");
        assertThat(questions).hasSizeGreaterThan(10);
        assertThat(questions.stream().flatMap(MonitoringTest::faults)).isEmpty();
        for (JsonNode target : dashboard.findParents("expr")) {
            String expression = target.path("expr").asString();
            assertThat(kept(expression))
                    .as("what the legend of %s shows", expression)
                    .containsAll(shown(LEGEND, target.path("legendFormat").asString("")));
        }
        List<JsonNode> variables =
                dashboard.at("/templating/list").valueStream().toList();
        assertThat(variables).hasSize(3);
        for (JsonNode variable : variables) {
            if (!variable.path("type").asString("").equals("datasource")) {
                for (String question : List.of(
                        variable.at("/query/query").asString(""),
                        variable.path("definition").asString(""))) {
                    Matcher values = VALUES.matcher(question);
                    assertThat(values.matches()).as(question).isTrue();
                    assertThat(faults(values.group(1) + "{" + values.group(2) + "=\"\"}"))
                            .isEmpty();
                }
            }
        }
    }

    @Test
    void theRulesAskForWhatThereIs() throws IOException {
        String rules = Files.readString(FOLDER.resolve("prometheus-alerts.yml"));
        List<String> alerts = Pattern.compile("(?m)^ {6}- alert: ")
                .splitAsStream(rules)
                .skip(1)
                .toList();
        assertThat(alerts).hasSizeGreaterThan(5);
        String page = Files.readString(Pages.project().resolve("docs/operations.md"));
        for (String alert : alerts) {
            String name = alert.substring(0, alert.indexOf('\n'));
            Matcher expression =
                    Pattern.compile("(?s)expr: (.*?)\\n {8}(?:for|labels):").matcher(alert);
            assertThat(expression.find()).as(name).isTrue();
            assertThat(faults(expression.group(1))).as(name).isEmpty();
            assertThat(kept(expression.group(1)))
                    .as("what the texts of %s show", name)
                    .containsAll(shown(SHOWN, alert));
            assertThat(page).as("what to do at an alert").contains("`" + name + "`");
        }
    }

    @Test
    void whatIsNotProducedIsFound() {
        assertThat(faults("sum(lockkeeper_lost_total)")).isEmpty();
        assertThat(faults("sum(lockkeeper_stolen_total)")).hasSize(1);
        assertThat(faults("sum(lockkeeper_lost_total{colour=\"red\"})")).hasSize(1);
        assertThat(faults("sum by (colour) (lockkeeper_lost_total)")).hasSize(1);
        assertThat(faults("rate(other_library_total[5m])")).hasSize(1);
        for (String unknown : List.of(
                "up",
                "lockkeeper:lost",
                "lockkeeper_lost2_total",
                "Lockkeeper_lost_total",
                "lockkeeper_hold_seconds_p99")) {
            assertThat(faults("sum(" + unknown + ")")).as(unknown).hasSize(1);
        }
        for (String join : List.of("ignoring", "on (label) group_left")) {
            assertThat(faults("lockkeeper_held / " + join + " (colour) lockkeeper_waiting"))
                    .as(join)
                    .hasSize(1);
        }
    }

    @Test
    void everyMeterHasAHelpText() {
        Map<String, String> ours = new HashMap<>(help);
        ours.keySet().removeIf(name -> !name.startsWith("lockkeeper_"));
        assertThat(ours)
                .hasSizeGreaterThan(10)
                .allSatisfy((name, text) -> assertThat(text).as(name).isNotBlank());
    }

    @Test
    @EnabledIf(value = "isPromtoolInstalled", disabledReason = "no promtool on the PATH")
    void theRulesAlertWhenTheyShould() throws Exception {
        for (List<String> command : List.of(
                List.of("promtool", "check", "rules", "prometheus-alerts.yml"),
                List.of("promtool", "test", "rules", "prometheus-alerts-test.yml"))) {
            Process process = new ProcessBuilder(command)
                    .directory(FOLDER.toFile())
                    .redirectErrorStream(true)
                    .start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
            assertThat(process.exitValue()).as(output).isZero();
        }
    }

    static boolean isPromtoolInstalled() {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "promtool")));
    }

    /** Returns the metrics and tags of an expression that no meter has. */
    private static Stream<String> faults(String expression) {
        List<String> faults = new ArrayList<>();
        Set<String> known = new HashSet<>(TARGET);
        String plain = GROUPING.matcher(expression).replaceAll(" ");
        for (MatchResult metric :
                METRIC.matcher(WINDOW.matcher(plain).replaceAll(" ")).results().toList()) {
            Set<String> tags = tagsOf.get(metric.group(1));
            if (OPERATORS.contains(metric.group(1))) {
                continue;
            }
            if (tags == null || !metric.group(1).startsWith("lockkeeper_")) {
                faults.add(expression + ": no meter is called " + metric.group(1));
                continue;
            }
            known.addAll(tags);
            if (metric.group(2) != null) {
                TAG.matcher(metric.group(2)).results().map(tag -> tag.group(1)).forEach(tag -> {
                    if (!tags.contains(tag) && !TARGET.contains(tag)) {
                        faults.add(expression + ": " + metric.group(1) + " has no tag " + tag);
                    }
                });
            }
        }
        GROUPING.matcher(expression)
                .results()
                .flatMap(by -> tags(by.group(1)).stream())
                .forEach(tag -> {
                    if (!known.contains(tag)) {
                        faults.add(expression + ": no tag " + tag);
                    }
                });
        return faults.stream();
    }

    private static Set<String> tags(String list) {
        return Set.of(list.trim().split("\\s*,\\s*"));
    }

    /** Returns the tags that the result of an expression has. */
    private static Set<String> kept(String expression) {
        return GROUPING.matcher(expression)
                .results()
                .flatMap(by -> tags(by.group(1)).stream())
                .collect(Collectors.toSet());
    }

    private static Set<String> shown(Pattern label, String text) {
        return label.matcher(text).results().map(found -> found.group(1)).collect(Collectors.toSet());
    }
}
