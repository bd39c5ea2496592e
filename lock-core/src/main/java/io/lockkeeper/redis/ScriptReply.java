package io.lockkeeper.redis;

import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredLock;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What a script of one lock answered: a status, the server's time, and what belongs to the status. */
final class ScriptReply {

    private final List<Object> raw;
    private final String status;

    ScriptReply(List<Object> raw) {
        this.raw = raw;
        this.status = text(0);
    }

    boolean is(String expected) {
        return status.equals(expected);
    }

    long serverMillis() {
        return number(1);
    }

    AcquireReply toAcquireReply() {
        return switch (status) {
            case "ACQUIRED" -> new AcquireReply.Acquired(number(2));
            case "QUEUED" -> new AcquireReply.Queued(text(2), number(3), serverMillis());
            case "BUSY" -> new AcquireReply.Busy(text(2));
            default -> throw unexpected();
        };
    }

    ReleaseReply toReleaseReply() {
        return switch (status) {
            case "RELEASED" -> ReleaseReply.RELEASED;
            case "LEFT" -> ReleaseReply.LEFT_QUEUE;
            case "ALREADY" -> ReleaseReply.ALREADY_RELEASED;
            case "NOT_HELD" -> ReleaseReply.NOT_HELD;
            default -> throw unexpected();
        };
    }

    Optional<StoredLock> toStoredLock(String name) {
        if (is("FREE")) {
            return Optional.empty();
        }
        ClaimMode mode = ClaimMode.valueOf(text(2).toUpperCase(Locale.ROOT));
        return Optional.of(new StoredLock(name, mode, text(3), number(4), number(5)));
    }

    private StoreException unexpected() {
        return new StoreException("a script answered " + status + ", which was not expected here", null);
    }

    private String text(int position) {
        return new String((byte[]) raw.get(position), StandardCharsets.UTF_8);
    }

    private long number(int position) {
        return (Long) raw.get(position);
    }
}
