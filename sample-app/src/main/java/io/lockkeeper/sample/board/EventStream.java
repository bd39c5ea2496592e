/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;

/**
 * A stream of server-sent events. A client has no thread of its own, and one event at most waits for it: who reads
 * slowly gets fewer of them. All streams end when the application begins to close, for a web server that stops
 * gracefully would wait for them.
 */
class EventStream extends HttpServlet {

    private static final long serialVersionUID = 1L;

    private static final int MOST_CLIENTS = 200;
    private static final byte[] RETRY = "retry: 1000\n\n".getBytes(StandardCharsets.US_ASCII);

    private final transient Set<EventStreamClient> clients = ConcurrentHashMap.newKeySet();
    private volatile boolean closing;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (closing || clients.size() >= MOST_CLIENTS) {
            response.sendError(HttpServletResponse.SC_SERVICE_UNAVAILABLE);
            return;
        }
        response.setContentType("text/event-stream");
        response.setCharacterEncoding(StandardCharsets.UTF_8.name());
        response.setHeader("Cache-Control", "no-store");
        AsyncContext async = request.startAsync();
        async.setTimeout(0);
        EventStreamClient client = new EventStreamClient(async, response.getOutputStream(), clients::remove);
        clients.add(client);
        client.open(RETRY);
        if (closing) {
            // The application began to close after the first look at it
            client.close();
        }
    }

    boolean hasClients() {
        return !clients.isEmpty();
    }

    /** Sends an event to every client, in place of one that the client has not taken yet. */
    void send(byte[] event) {
        clients.forEach(client -> client.send(event));
    }

    @EventListener(ContextClosedEvent.class)
    void close() {
        closing = true;
        clients.forEach(EventStreamClient::close);
    }
}
