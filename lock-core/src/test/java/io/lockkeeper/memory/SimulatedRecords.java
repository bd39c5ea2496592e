/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.MemoryScripts.Sending;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredLock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The records and scripts of a server that a simulation runs: the model to which ScriptModelTest holds the Lua scripts.
 */
public final class SimulatedRecords {

    private static final int ALIVE_POLLS = 4;
    private static final long TOMBSTONE_MICROS = 30_000_000;

    private final BiConsumer<String, Consumer<StoreListener>> outbox;
    private final Map<String, MemoryRecord> records = new HashMap<>();

    /**
     * Creates an empty server.
     *
     * @param outbox takes what is told to the client of an attempt
     */
    public SimulatedRecords(BiConsumer<String, Consumer<StoreListener>> outbox) {
        this.outbox = outbox;
    }

    /** Asks for locks; empty: the command came too late. */
    public Optional<AcquireReply> acquire(AcquireCommand command, StoreTraits traits, long sentMicros, long micros) {
        return MemoryScripts.acquire(
                records(command.names(), micros), command, sending(command, traits, sentMicros), micros);
    }

    /** Hands a lock over; empty: the command came too late. */
    public Optional<HandOverReply> handOver(HandOverCommand command, StoreTraits traits, long sentMicros, long micros) {
        return MemoryScripts.handOver(
                record(command.next().name(), micros), command, sending(command.next(), traits, sentMicros), micros);
    }

    /** Ends a hold or a wait. */
    public ReleaseReply release(ReleaseCommand command, long micros) {
        return MemoryScripts.release(
                records(command.names(), micros), command.attempt(), command.lastToken(), command.keepMillis(), micros);
    }

    /** Renews holds. */
    public List<Boolean> renew(List<RenewCommand> commands, long micros) {
        return commands.stream()
                .map(command -> MemoryScripts.renew(record(command.name(), micros), command, micros))
                .toList();
    }

    /** Takes a lock away from all who hold it. */
    public boolean revoke(String name, long micros) {
        return MemoryScripts.revoke(record(name, micros), micros);
    }

    /** Returns what is to be seen of a lock. */
    public Optional<StoredLock> inspect(String name, long micros) {
        return record(name, micros).inspect(micros / 1_000);
    }

    /** Returns a copy of all records, for a replica that takes over. */
    public Map<String, Object> snapshot() {
        Map<String, Object> copies = new HashMap<>();
        records.forEach((name, record) -> copies.put(name, copy(record)));
        return copies;
    }

    /** Goes back to a snapshot; returns the names whose last writes are lost by that. */
    public Set<String> restore(Map<String, Object> snapshot) {
        Set<String> changed = new TreeSet<>(records.keySet());
        changed.removeIf(name -> snapshot.get(name) instanceof MemoryRecord known
                && RecordText.of(known).equals(RecordText.of(Objects.requireNonNull(records.get(name)))));
        records.clear();
        snapshot.forEach((name, record) -> records.put(name, copy((MemoryRecord) record)));
        return changed;
    }

    private static Sending sending(AcquireCommand command, StoreTraits traits, long sentMicros) {
        return new Sending(
                sentMicros,
                sentMicros / 1_000 + traits.commandTimeout().toMillis(),
                ALIVE_POLLS * traits.pollInterval().toMillis(),
                Math.min(command.leaseMillis(), traits.grantTime().toMillis()));
    }

    private List<MemoryRecord> records(List<String> names, long micros) {
        return names.size() == 1
                ? List.of(record(names.get(0), micros))
                : names.stream().map(name -> record(name, micros)).toList();
    }

    /** Returns a record; what has been free for long is forgotten, as its key expires. */
    private MemoryRecord record(String name, long micros) {
        MemoryRecord known = records.get(name);
        if (known == null || (known.isEmpty() && micros - known.since > TOMBSTONE_MICROS)) {
            known = new MemoryRecord(name, 0, outbox::accept);
            records.put(name, known);
        }
        return known;
    }

    private MemoryRecord copy(MemoryRecord record) {
        MemoryRecord copy = new MemoryRecord(record.name, record.token, outbox::accept);
        copy.mode = record.mode;
        copy.owner = record.owner;
        copy.first = record.first;
        copy.ends = record.ends;
        copy.since = record.since;
        copy.previous = record.previous;
        copy.granted = record.granted;
        copy.readers.putAll(record.readers);
        copy.queue.putAll(record.queue);
        copy.gone.putAll(record.gone);
        copy.kept = record.kept;
        copy.previousRevoked = record.previousRevoked;
        copy.started = record.started;
        copy.head = record.head;
        copy.tail = record.tail;
        copy.latest = record.latest;
        return copy;
    }
}
