/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.StoredInstance;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class InstanceDescriptionTest {

    private static final Instant SINCE = Instant.parse("2026-01-02T03:04:05.678Z");

    @Test
    void anInstanceIsDescribedInJson() {
        assertThat(InstanceDescription.toJson(new StoredInstance("A1", "shop-1", "host", 42, SINCE, "shop")))
                .isEqualTo("{\"id\":\"A1\",\"application\":\"shop-1\",\"host\":\"host\",\"pid\":42,"
                        + "\"since\":\"2026-01-02T03:04:05.678Z\",\"service\":\"shop\"}");
    }

    @Test
    void whatWasWrittenIsRead() {
        StoredInstance odd = new StoredInstance("A1", "\"a\\\n\u0001,{}", "größe", 0, SINCE, "s:\"pid\":7");
        assertThat(parse(InstanceDescription.toJson(odd))).contains(odd);
    }

    @Test
    void aLongNameIsRead() {
        String name = "shop \"1\" ".repeat(10_000);
        StoredInstance instance = new StoredInstance("A1", name, "host", 42, SINCE, "shop");
        assertThat(parse(InstanceDescription.toJson(instance))).contains(instance);
    }

    @Test
    void anInstanceOfAnEarlierSnapshotHasNoService() {
        assertThat(parse(
                        "{\"id\":\"A1\",\"application\":\"shop\",\"host\":\"\",\"pid\":1,\"since\":\"" + SINCE + "\"}"))
                .contains(new StoredInstance("A1", "shop", "", 1, SINCE, ""));
    }

    @Test
    void somethingElseIsNoDescription() {
        assertThat(parse("")).isEmpty();
        assertThat(parse("{\"since\":\"yesterday\"}")).isEmpty();
    }

    private static Optional<StoredInstance> parse(String json) {
        return InstanceDescription.parse(json.getBytes(StandardCharsets.UTF_8));
    }
}
