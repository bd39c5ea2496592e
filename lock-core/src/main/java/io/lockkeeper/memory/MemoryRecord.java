package io.lockkeeper.memory;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreTimes;
import io.lockkeeper.store.StoredLock;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The record of one lock, with the transitions that the scripts of the Redis store have. Not safe for several threads. */
final class MemoryRecord {

    private static final int CLIENT_ID_LENGTH = 12;
    private static final int ALIVE_POLLS = 3;

    private final String name;
    private final Map<String, Place> queue = new LinkedHashMap<>();
    private final Consumer<Grant> grants;
    private @Nullable AcquireCommand owner;
    private long until;
    private boolean granted;
    private long token;
    private String previous = "";

    MemoryRecord(String name, long lastToken, Consumer<Grant> grants) {
        this.name = name;
        this.token = lastToken;
        this.grants = grants;
    }

    AcquireReply acquire(AcquireCommand command, StoreTimes times, long micros) {
        long now = micros / 1_000;
        if (isHeldBy(command.attempt(), now)) {
            until = now + command.leaseMillis();
            granted = false;
            return new AcquireReply.Acquired(token - command.tokens() + 1);
        }
        endLapsedHold(now);
        if (owner == null) {
            Place head = firstLive(now);
            if (head == null || head.command.attempt().equals(command.attempt())) {
                queue.remove(command.attempt());
                return new AcquireReply.Acquired(own(command, command.leaseMillis(), false, micros));
            }
            grant(head, micros);
        }
        return command.queue() ? enqueue(command, times, now) : new AcquireReply.Busy(ownerId());
    }

    HandOverReply handOver(HandOverCommand command, StoreTimes times, long micros) {
        long now = micros / 1_000;
        if (owner == null || !owner.attempt().equals(command.attempt())) {
            return new HandOverReply(false, new AcquireReply.Busy(ownerId()));
        }
        end(command.attempt(), command.lastToken());
        AcquireCommand next = command.next();
        Place head = firstLive(now);
        if (head == null) {
            return new HandOverReply(true, new AcquireReply.Acquired(own(next, next.leaseMillis(), false, micros)));
        }
        grant(head, micros);
        return new HandOverReply(true, enqueue(next, times, now));
    }

    ReleaseReply release(ReleaseCommand command, long micros) {
        if (owner != null && owner.attempt().equals(command.attempt())) {
            end(command.attempt(), command.lastToken());
            Place head = firstLive(micros / 1_000);
            if (head != null) {
                grant(head, micros);
            }
            return ReleaseReply.RELEASED;
        }
        if (queue.remove(command.attempt()) != null) {
            return ReleaseReply.LEFT_QUEUE;
        }
        return previous.equals(command.attempt()) ? ReleaseReply.ALREADY_RELEASED : ReleaseReply.NOT_HELD;
    }

    boolean renew(RenewCommand command, long micros) {
        long now = micros / 1_000;
        if (!isHeldBy(command.attempt(), now)) {
            return false;
        }
        long end = now + command.leaseMillis();
        until = command.exact() ? end : Math.max(until, end);
        granted = false;
        return true;
    }

    Optional<StoredLock> inspect(long micros) {
        long now = micros / 1_000;
        return owner == null || until <= now
                ? Optional.empty()
                : Optional.of(new StoredLock(name, owner.mode(), owner.attempt(), token, until - now));
    }

    /** Returns whether nothing is lost if this record is dropped, but for its last token. */
    boolean isEmpty() {
        return owner == null && queue.isEmpty();
    }

    long token() {
        return token;
    }

    private boolean isHeldBy(String attempt, long now) {
        return owner != null && owner.attempt().equals(attempt) && until > now;
    }

    private void end(String attempt, long lastToken) {
        owner = null;
        previous = attempt;
        if (lastToken > 0) {
            token = lastToken;
        }
    }

    private void endLapsedHold(long now) {
        if (owner == null || until > now) {
            return;
        }
        if (granted) {
            String client = owner.attempt().substring(0, CLIENT_ID_LENGTH);
            queue.keySet().removeIf(attempt -> attempt.startsWith(client));
        }
        owner = null;
    }

    private @Nullable Place firstLive(long now) {
        for (Iterator<Place> places = queue.values().iterator(); places.hasNext(); ) {
            Place place = places.next();
            if (place.aliveUntil >= now) {
                return place;
            }
            places.remove();
        }
        return null;
    }

    private AcquireReply enqueue(AcquireCommand command, StoreTimes times, long now) {
        long alive = now + ALIVE_POLLS * times.pollInterval().toMillis();
        long grantMillis = Math.min(command.leaseMillis(), times.grantTime().toMillis());
        queue.put(command.attempt(), new Place(command, alive, grantMillis));
        return new AcquireReply.Queued(ownerId(), Math.max(0, until - now), now);
    }

    private void grant(Place place, long micros) {
        queue.remove(place.command.attempt());
        long first = own(place.command, place.grantMillis, true, micros);
        grants.accept(new Grant(place.command.attempt(), name, first, until));
    }

    private long own(AcquireCommand command, long leaseMillis, boolean byGrant, long micros) {
        long first = Math.max(token + 1, micros);
        token = first + command.tokens() - 1;
        owner = command;
        until = micros / 1_000 + leaseMillis;
        granted = byGrant;
        return first;
    }

    private String ownerId() {
        return owner == null ? "" : owner.attempt();
    }

    private record Place(AcquireCommand command, long aliveUntil, long grantMillis) {}
}
