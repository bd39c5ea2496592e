/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** One client's connection through a {@link FaultProxy}: a thread for the requests and one for the replies. */
final class ProxiedConnection {

    private static final Set<String> SUBSCRIPTIONS =
            Set.of("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE");
    private static final Set<String> MESSAGES = Set.of("message", "pmessage", "smessage");

    private final FaultProxy proxy;
    private final Socket client;
    private final Socket upstream;
    private final RespReader requests;
    private final RespReader replies;

    /** For each request that Redis is going to reply to, the fault that took it. */
    private final Queue<Optional<Fault>> pending = new ConcurrentLinkedQueue<>();

    private volatile boolean subscribed;

    ProxiedConnection(FaultProxy proxy, Socket client, Socket upstream) throws IOException {
        this.proxy = proxy;
        this.client = client;
        this.upstream = upstream;
        client.setTcpNoDelay(true);
        requests = new RespReader(client.getInputStream());
        replies = new RespReader(upstream.getInputStream());
    }

    void start() {
        SocketWork.fork("fault-proxy-requests", this::pumpRequests);
        SocketWork.fork("fault-proxy-replies", this::pumpReplies);
    }

    void closeClient() {
        SocketWork.closeQuietly(client);
    }

    void close() {
        closeClient();
        SocketWork.closeQuietly(upstream);
        proxy.forget(this);
    }

    private void pumpRequests() throws IOException, InterruptedException {
        try {
            RespReader.Frame frame = nextRequest();
            while (frame != null && forward(frame)) {
                frame = nextRequest();
            }
        } finally {
            // Redis runs what it has got and then closes its side, which ends the other thread
            upstream.shutdownOutput();
        }
    }

    /** Null: the client has closed or broken the connection. */
    private RespReader.@Nullable Frame nextRequest() {
        try {
            return requests.read();
        } catch (IOException e) {
            return null;
        }
    }

    private boolean forward(RespReader.Frame frame) throws IOException, InterruptedException {
        RedisRequest request = RedisRequest.of(frame);
        Fault.Hit hit = proxy.take(request);
        if (hit != null && !letThrough(hit)) {
            return false;
        }
        if (SUBSCRIPTIONS.contains(request.command())) {
            subscribed = true;
        } else {
            pending.add(Optional.ofNullable(hit).map(Fault.Hit::fault));
        }
        upstream.getOutputStream().write(frame.raw());
        if (hit != null && hit.fault().kind() == Fault.Kind.DUPLICATE) {
            proxy.sendCopy(frame.raw(), hit.fault());
        }
        return true;
    }

    /** Returns when the request may reach Redis; false: never. */
    private boolean letThrough(Fault.Hit hit) throws InterruptedException {
        return switch (hit.fault().kind()) {
            case HOLD -> hit.awaitDelivery();
            case DELAY_REQUEST -> proxy.delay(hit.fault().delay());
            case SWALLOW -> {
                hit.fault().complete();
                while (nextRequest() != null) {
                    // Lost, too
                }
                yield false;
            }
            case CUT_REPLY, DELAY_REPLY, DUPLICATE -> true;
        };
    }

    private void pumpReplies() throws IOException, InterruptedException {
        try {
            RespReader.Frame frame = replies.read();
            while (frame != null) {
                if (!isMessage(frame) || !proxy.losesMessages()) {
                    reply(frame);
                }
                frame = replies.read();
            }
        } finally {
            close();
        }
    }

    private void reply(RespReader.Frame frame) throws InterruptedException {
        // A server may refuse a client before any request of it has come, as one does that has too many clients.
        Optional<Fault> asked = isUnasked(frame) ? null : pending.poll();
        Fault fault = asked == null ? null : asked.orElse(null);
        if (fault == null) {
            send(frame);
            return;
        }
        switch (fault.kind()) {
            case CUT_REPLY -> {
                closeClient();
                fault.complete();
            }
            case DELAY_REPLY -> {
                fault.complete();
                if (proxy.delay(fault.delay())) {
                    send(frame);
                }
            }
            case HOLD, DELAY_REQUEST -> {
                fault.complete();
                send(frame);
            }
            case DUPLICATE, SWALLOW -> send(frame);
        }
    }

    /** The client may be gone; Redis's replies are read on, so that what is still held reaches it. */
    private void send(RespReader.Frame frame) {
        try {
            client.getOutputStream().write(frame.raw());
        } catch (IOException e) {
            closeClient();
        }
    }

    private boolean isUnasked(RespReader.Frame frame) {
        return frame.type() == '>' || (subscribed && (isAboutSubscriptions(kind(frame)) || isNoSubscription(frame)));
    }

    /** Valkey 8 answers UNSUBSCRIBE so where there is no subscription any more. */
    private static boolean isNoSubscription(RespReader.Frame frame) {
        return frame.type() == '-' && new String(frame.raw(), StandardCharsets.US_ASCII).startsWith("-NOSUB");
    }

    private static boolean isAboutSubscriptions(String kind) {
        return MESSAGES.contains(kind) || SUBSCRIPTIONS.contains(kind.toUpperCase(Locale.ROOT));
    }

    private boolean isMessage(RespReader.Frame frame) {
        return isUnasked(frame) && MESSAGES.contains(kind(frame));
    }

    private static String kind(RespReader.Frame frame) {
        return frame.value() instanceof List<?> list && !list.isEmpty() ? String.valueOf(list.get(0)) : "";
    }
}
