/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import io.lockkeeper.LockException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import tools.jackson.databind.json.JsonMapper;

/**
 * Sends what the page shows to all who look at it, three times a second: one reading for all of them, and none without
 * viewers.
 */
@Component
class Broadcast {

    private static final Logger log = LoggerFactory.getLogger(Broadcast.class);

    private final Reporter reporter;
    private final BoardReader reader;
    private final EventStream stream;
    private final JsonMapper json = JsonMapper.shared();

    Broadcast(Reporter reporter, BoardReader reader, EventStream stream) {
        this.reporter = reporter;
        this.reader = reader;
        this.stream = stream;
    }

    @Scheduled(fixedDelay = 300)
    void send() {
        try {
            reporter.tell();
            if (stream.hasClients()) {
                stream.send(event("board", reader.read()));
            }
        } catch (LockException | DataAccessException silent) {
            log.debug("Nothing to show", silent);
            stream.send(event("trouble", Map.of("detail", trouble(silent))));
        }
    }

    private static String trouble(RuntimeException failure) {
        return failure instanceof LockException ? "Redis does not answer" : "The database does not answer";
    }

    private byte[] event(String name, Object data) {
        String text = "event: " + name + "\ndata: " + json.writeValueAsString(data) + "\n\n";
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
