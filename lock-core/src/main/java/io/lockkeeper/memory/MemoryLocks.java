package io.lockkeeper.memory;

import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreListener;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** The locks that one or several stores in memory share, as instances share a Redis. */
final class MemoryLocks {

    private static final int CLIENT_ID_LENGTH = 12;

    private final LongSupplier micros;
    private final Map<String, MemoryRecord> records = new HashMap<>();
    private final Map<String, StoreListener> listeners = new HashMap<>();
    private final List<Grant> granted = new ArrayList<>();
    private long lastToken;

    MemoryLocks(LongSupplier micros) {
        this.micros = micros;
    }

    synchronized void join(String clientId, StoreListener listener) {
        listeners.put(clientId, listener);
    }

    synchronized void leave(String clientId) {
        listeners.remove(clientId);
    }

    long micros() {
        return micros.getAsLong();
    }

    /** Applies a command to a record, keeps the record only if it says something, and tells whom it was granted to. */
    <T> T apply(String name, Function<MemoryRecord, T> command) {
        T reply;
        List<Runnable> messages;
        synchronized (this) {
            MemoryRecord record = records.computeIfAbsent(name, key -> new MemoryRecord(key, lastToken, granted::add));
            reply = command.apply(record);
            lastToken = Math.max(lastToken, record.token());
            if (record.isEmpty()) {
                records.remove(name);
            }
            messages = granted.stream().map(this::message).toList();
            granted.clear();
        }
        messages.forEach(Runnable::run);
        return reply;
    }

    private Runnable message(Grant grant) {
        StoreListener listener = listeners.get(grant.attempt().substring(0, CLIENT_ID_LENGTH));
        return listener == null ? () -> {} : () -> listener.granted(grant);
    }

    synchronized int size() {
        return records.size();
    }
}
