/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import io.lockkeeper.LockInspector;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClient;
import org.springframework.web.server.ResponseStatusException;

/** What the buttons of the page do: one page reaches all instances, through the one that serves it. */
@RestController
class BoardController {

    private static final Logger log = LoggerFactory.getLogger(BoardController.class);

    private static final Duration TIME_TO_CONNECT = Duration.ofSeconds(2);
    private static final Duration TIME_TO_ANSWER = Duration.ofSeconds(90);

    private final LockInspector inspector;
    private final InstanceReports reports;
    private final RestClient client;

    BoardController(LockInspector inspector, InstanceReports reports) {
        this.inspector = inspector;
        this.reports = reports;
        JdkClientHttpRequestFactory requests = new JdkClientHttpRequestFactory(
                HttpClient.newBuilder().connectTimeout(TIME_TO_CONNECT).build());
        requests.setReadTimeout(TIME_TO_ANSWER);
        this.client = RestClient.builder().requestFactory(requests).build();
    }

    /** Passes a request on to an instance of that name. All of them are on this machine, as their database is. */
    @PostMapping("/instances/{name}/{action:orders|burst|hold}")
    ResponseEntity<byte[]> passOn(@PathVariable String name, @PathVariable String action, HttpServletRequest request) {
        int port = reports.current().stream()
                .filter(report -> report.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND, "No instance '" + name + "' runs"))
                .port();
        String query = request.getQueryString();
        URI address = URI.create("http://localhost:" + port + "/" + action + (query == null ? "" : "?" + query));
        try {
            return client.post().uri(address).exchange((passedOn, answer) -> {
                MediaType type = answer.getHeaders().getContentType();
                return ResponseEntity.status(answer.getStatusCode())
                        .contentType(type == null ? MediaType.APPLICATION_JSON : type)
                        .body(answer.getBody().readAllBytes());
            });
        } catch (ResourceAccessException gone) {
            throw new ResponseStatusException(HttpStatus.BAD_GATEWAY, name + " does not answer", gone);
        }
    }

    /** Takes a lock away from its holder. */
    @DeleteMapping("/locks")
    Release forceRelease(@RequestParam String name) {
        boolean released = inspector.forceRelease(name);
        log.warn("Force release of {}, asked for on the page: {}", name, released ? "done" : "it was free");
        return new Release(name, released);
    }

    /** Whether the lock was held. */
    record Release(String name, boolean released) {}
}
