/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoredInstance;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/** The locks that one or several stores in memory share, as instances share a Redis. */
final class MemoryLocks implements Outbox {

    private static final int CLIENT_ID_LENGTH = 12;

    private final LongSupplier micros;
    private final Map<String, MemoryRecord> records = new HashMap<>();
    private final Map<String, Client> clients = new HashMap<>();
    private final List<Runnable> messages = new ArrayList<>();
    private long lastToken;

    private record Client(StoredInstance description, StoreListener listener) {}

    MemoryLocks(LongSupplier micros) {
        this.micros = micros;
    }

    synchronized void join(StoredInstance description, StoreListener listener) {
        clients.put(description.clientId(), new Client(description, listener));
    }

    synchronized void leave(String clientId) {
        clients.remove(clientId);
    }

    synchronized List<StoredInstance> instances(List<String> clientIds) {
        return clientIds.stream()
                .flatMap(id -> Stream.ofNullable(clients.get(id)))
                .map(Client::description)
                .toList();
    }

    synchronized List<String> names() {
        return List.copyOf(records.keySet());
    }

    long micros() {
        return micros.getAsLong();
    }

    /** Applies a command to records, keeps those that say something, and then tells whom it concerns. */
    <T> T apply(List<String> names, Function<List<MemoryRecord>, T> command) {
        T reply;
        List<Runnable> due;
        synchronized (this) {
            List<MemoryRecord> touched = names.stream().map(this::record).toList();
            reply = command.apply(touched);
            touched.forEach(this::tidy);
            due = List.copyOf(messages);
            messages.clear();
        }
        due.forEach(Runnable::run);
        return reply;
    }

    private MemoryRecord record(String name) {
        return records.computeIfAbsent(name, key -> new MemoryRecord(key, lastToken, this));
    }

    private void tidy(MemoryRecord record) {
        lastToken = Math.max(lastToken, record.token);
        if (record.isEmpty()) {
            records.remove(record.name);
        }
    }

    @Override
    public void send(String attempt, Consumer<StoreListener> message) {
        Client client = clients.get(attempt.substring(0, CLIENT_ID_LENGTH));
        if (client != null) {
            messages.add(() -> message.accept(client.listener()));
        }
    }

    synchronized int size() {
        return records.size();
    }
}
