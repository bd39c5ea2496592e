/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.springframework.boot.convert.DurationStyle;
import org.yaml.snakeyaml.Yaml;

/** The manifest of the page about Kubernetes gives an application the time that it needs to stop. */
class KubernetesTest {

    private static final Duration MARGIN = Duration.ofSeconds(5);
    private static final Duration HANGING_REDIS = Duration.ofSeconds(8);

    @Test
    @SuppressWarnings("unchecked")
    void theGracePeriodIsLongerThanAllPhasesOfTheShutdown() throws IOException {
        List<CodeBlock> manifests = CodeBlock.in("yml").stream()
                .filter(block -> block.page().equals("docs/kubernetes.md"))
                .toList();
        assertThat(manifests).hasSize(1);
        Map<String, Object> pod = at(new Yaml().load(manifests.get(0).text()), "spec", "template", "spec");
        Map<String, Object> container = ((List<Map<String, Object>>) pod.get("containers")).get(0);
        Map<String, String> environment = ((List<Map<String, String>>) container.get("env"))
                .stream().collect(Collectors.toMap(entry -> entry.get("name"), entry -> entry.get("value")));
        List<String> command =
                (List<String>) at(container, "lifecycle", "preStop", "exec").get("command");
        assertThat(command).hasSize(2).startsWith("sleep");

        Duration phase = DurationStyle.detectAndParse(environment.get("SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE"));
        Duration locks = DurationStyle.detectAndParse(environment.get("LOCKKEEPER_SHUTDOWN_WAIT"));
        Duration sum = Duration.ofSeconds(Long.parseLong(command.get(1)))
                .plus(phase.multipliedBy(2))
                .plus(locks)
                .plus(HANGING_REDIS)
                .plus(MARGIN);

        int grace = (Integer) pod.get("terminationGracePeriodSeconds");
        assertThat(Duration.ofSeconds(grace)).isGreaterThanOrEqualTo(sum);
        for (String probe : List.of("livenessProbe", "readinessProbe")) {
            assertThat((String) at(container, probe, "httpGet").get("path")).startsWith("/actuator/health/");
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> at(Map<String, Object> node, String... keys) {
        Map<String, Object> found = node;
        for (String key : keys) {
            found = (Map<String, Object>) found.get(key);
            assertThat(found).as(key).isNotNull();
        }
        return found;
    }
}
