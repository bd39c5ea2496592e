/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs scripts whose writes must be on replicas, on the master of their keys. */
final class AckedCommands implements AutoCloseable {

    private static final Pattern REDIRECTION = Pattern.compile("\\b(MOVED|ASK) \\d+ (\\S*:\\d+)");

    private final OwnConnections connections;
    private final ReplicaAcks acks;
    private final Duration limit;
    private final ScheduledExecutorService timer;
    private final Runnable onServerFailed;
    private final Map<String, AckedServer> servers = new ConcurrentHashMap<>();

    /**
     * Creates it without a connection yet.
     *
     * @param connections where connections come from; closed with this
     * @param acks how many replicas must have what is written
     * @param limit after which an answer has failed
     * @param timer ends what lasts too long
     * @param onServerFailed told when a server does not answer, or lacks replicas: another one may have its place
     */
    AckedCommands(
            OwnConnections connections,
            ReplicaAcks acks,
            Duration limit,
            ScheduledExecutorService timer,
            Runnable onServerFailed) {
        this.connections = connections;
        this.acks = acks;
        this.limit = limit;
        this.timer = timer;
        this.onServerFailed = onServerFailed;
    }

    CompletableFuture<List<Object>> eval(String server, AckedCommand command) {
        ScheduledFuture<?> timeout = timer.schedule(
                () -> command.fail(
                        "Redis did not answer to " + command.name() + " within " + limit.toMillis() + " ms", null),
                limit.toNanos(),
                TimeUnit.NANOSECONDS);
        command.result.whenComplete((reply, failure) -> timeout.cancel(false));
        server(server).add(command);
        return command.result;
    }

    private AckedServer server(String name) {
        return servers.computeIfAbsent(name, unknown -> new AckedServer(unknown, this, connections, acks));
    }

    /** A server has refused a command before it ran: it is sent again where that helps. */
    void refused(AckedCommand command, Throwable refusal, AckedServer server) {
        Matcher redirection = REDIRECTION.matcher(redirectionIn(refusal));
        if (Failures.says(refusal, "NOSCRIPT")) {
            command.byText = true;
            if (command.maySend(refusal)) {
                server.add(command);
            }
        } else if (redirection.find()) {
            command.asking = redirection.group(1).equals("ASK");
            if (command.maySend(refusal)) {
                server(ServerAddress.target(redirection.group(2), server.name()))
                        .add(command);
            }
            if (!command.asking) {
                onServerFailed.run();
            }
        } else {
            onServerFailed.run();
            command.fail("Redis failed at " + command.name() + ": " + Failures.rootMessage(refusal), refusal);
        }
    }

    private static String redirectionIn(Throwable refusal) {
        for (Throwable cause = refusal; cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            if (REDIRECTION.matcher(message).find()) {
                return message;
            }
        }
        return "";
    }

    /** A server does not answer, or lacks replicas. */
    void serverFailed() {
        onServerFailed.run();
    }

    @Override
    public void close() {
        servers.values().forEach(AckedServer::close);
        connections.close();
    }
}
