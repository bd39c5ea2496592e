/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One who listens to the stream. Nothing here blocks: what the connection does not take waits for its turn. */
final class EventStreamClient implements WriteListener, AsyncListener {

    private final AsyncContext async;
    private final ServletOutputStream out;
    private final Consumer<EventStreamClient> onEnd;
    private final AtomicReference<byte @Nullable []> next = new AtomicReference<>();
    private final AtomicInteger calls = new AtomicInteger();
    private volatile boolean opened;
    private volatile boolean closing;
    private boolean written;
    private boolean ended;

    EventStreamClient(AsyncContext async, ServletOutputStream out, Consumer<EventStreamClient> onEnd) {
        this.async = async;
        this.out = out;
        this.onEnd = onEnd;
    }

    void open(byte[] first) {
        next.set(first);
        async.addListener(this);
        out.setWriteListener(this);
    }

    void send(byte[] event) {
        next.set(event);
        write();
    }

    void close() {
        closing = true;
        write();
    }

    @Override
    public void onWritePossible() {
        opened = true;
        write();
    }

    /** Writes, one thread at a time. No monitor: the server calls back while it holds locks of its own. */
    private void write() {
        if (calls.getAndIncrement() != 0) {
            return;
        }
        int seen = 1;
        do {
            if ((opened || closing) && !ended) {
                writeWhatIsTaken();
            }
            seen = calls.addAndGet(-seen);
        } while (seen != 0);
    }

    private void writeWhatIsTaken() {
        try {
            while (!closing && out.isReady()) {
                if (written) {
                    written = false;
                    out.flush();
                } else {
                    byte[] event = next.getAndSet(null);
                    if (event == null) {
                        return;
                    }
                    written = true;
                    out.write(event);
                }
            }
            if (closing) {
                end();
            }
        } catch (IOException | RuntimeException gone) {
            // A server that has ended the request meanwhile answers with exceptions of its own
            end();
        }
    }

    private void end() {
        ended = true;
        onEnd.accept(this);
        complete();
    }

    private void complete() {
        try {
            async.complete();
        } catch (IllegalStateException endedByTheServer) {
            // Nothing is left to end
        }
    }

    @Override
    public void onError(Throwable gone) {
        close();
    }

    @Override
    public void onError(AsyncEvent event) {
        close();
        // Again, for the server shows an error page unless this is called from here
        complete();
    }

    @Override
    public void onTimeout(AsyncEvent event) {
        close();
    }

    @Override
    public void onComplete(AsyncEvent event) {
        close();
    }

    @Override
    public void onStartAsync(AsyncEvent event) {
        // Only this class starts it, once
    }
}
