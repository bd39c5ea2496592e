/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.jfr;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a recording has of locks. */
class FlightRecorderListenerTest {

    @TempDir
    Path folder;

    @Test
    void aRecordingHasWaitsHoldsAndLosses() throws Exception {
        MemoryLockStore store = new MemoryLockStore();
        try (LockTemplate template = LockTemplate.builder(store)
                        .listener(new FlightRecorderListener())
                        .build();
                LockTemplate other = LockTemplate.builder(store.peer()).build();
                Recording recording = new Recording()) {
            template.run("before", lease -> {});
            for (String event : List.of("LockWait", "LockHold", "LockLost")) {
                recording.enable("io.lockkeeper." + event);
            }
            recording.start();
            LockRequest request =
                    LockRequest.of("a", "b").withMode(LockMode.WRITE).withLabel("Shop.sell");
            LockLease released = template.acquire(request);
            released.close();
            try (LockLease foreign = other.acquire("c")) {
                assertThat(foreign.isHeld()).isTrue();
                assertThat(template.tryAcquire(LockRequest.of("c").withWaitTime(Duration.ofMillis(20))))
                        .isEmpty();
            }
            LockLease lost = template.acquire("d");
            template.inspector().forceRelease("d");
            Awaitility.await().until(() -> !lost.isHeld());
            lost.release();
            recording.stop();
            template.run("after", lease -> {});
            Path file = folder.resolve("locks.jfr");
            recording.dump(file);

            List<RecordedEvent> events = RecordingFile.readAllEvents(file);

            RecordedEvent wait = one(events, "LockWait", "a,b");
            assertThat(wait.getString("mode")).isEqualTo("write");
            assertThat(wait.getString("label")).isEqualTo("Shop.sell");
            assertThat(wait.getString("outcome")).isEqualTo("acquired");
            assertThat(wait.getString("way")).isEqualTo("answer");
            assertThat(wait.getInt("attempts")).isEqualTo(1);
            RecordedEvent refused = one(events, "LockWait", "c");
            assertThat(refused.getString("outcome")).isEqualTo("not acquired");
            assertThat(refused.getDuration()).isGreaterThanOrEqualTo(Duration.ofMillis(20));
            RecordedEvent hold = one(events, "LockHold", "a,b");
            assertThat(hold.getString("outcome")).isEqualTo("released");
            assertThat(hold.getLong("fencingToken")).isEqualTo(released.fencingToken());
            assertThat(one(events, "LockHold", "d").getString("outcome")).isEqualTo("lost");
            RecordedEvent loss = one(events, "LockLost", "d");
            assertThat(loss.getString("reason")).isNotBlank();
            assertThat(loss.getLong("fencingToken")).isEqualTo(lost.fencingToken());
            assertThat(loss.getDuration("heldFor")).isPositive();
            assertThat(events).extracting(event -> event.getString("names")).doesNotContain("before", "after");
        }
    }

    private static RecordedEvent one(List<RecordedEvent> events, String type, String names) {
        List<RecordedEvent> found = events.stream()
                .filter(event -> event.getEventType().getName().equals("io.lockkeeper." + type))
                .filter(event -> event.getString("names").equals(names))
                .toList();
        assertThat(found).as(type + " of " + names).hasSize(1);
        return found.get(0);
    }
}
