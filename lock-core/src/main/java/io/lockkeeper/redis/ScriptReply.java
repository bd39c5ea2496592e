/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ForeignRecordException;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredLock;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a script over locks answered: a status, the server's time, and what belongs to the status, with blanks between.
 * The usual reply may be the time alone.
 */
final class ScriptReply {

    private static final int ATTEMPT = 20;
    private static final String AS_USUAL = "the usual";

    final String server;
    final long sentMicros;
    final long passedMicros;
    private final String[] parts;
    private final String status;

    /**
     * Reads a reply.
     *
     * @param server the server that has the lock, as known when the command was sent
     * @param sentMicros what was known of its clock when the command was sent
     * @param passedMicros how long the reply took
     */
    ScriptReply(Object raw, String server, long sentMicros, long passedMicros) {
        this.server = server;
        this.sentMicros = sentMicros;
        this.passedMicros = passedMicros;
        this.parts = new String(text(raw), StandardCharsets.UTF_8).split(" ", -1);
        this.status = Character.isDigit(parts[0].charAt(0)) ? AS_USUAL : parts[0];
    }

    /** Returns what a script gave as the text that it gives. */
    static byte[] text(@Nullable Object reply) {
        if (reply instanceof byte[] text) {
            return text;
        }
        throw new StoreException("a script gave no text: is the connection in a transaction?", null);
    }

    boolean is(String expected) {
        return status.equals(expected);
    }

    long serverMicros() {
        return number(is(AS_USUAL) ? 0 : 1);
    }

    /** Returns whether the command must be sent again, to go on where the script stopped. */
    boolean leavesMore() {
        return parts.length == 3 && parts[2].equals("MORE");
    }

    /** Throws where the key of a lock holds something that is not ours. */
    void refuseForeign() {
        if (is("FOREIGN")) {
            throw new ForeignRecordException(
                    "the key '" + String.join(" ", Arrays.asList(parts).subList(2, parts.length))
                            + "' holds something else, or a lock record of another version: choose another"
                            + " lockkeeper.key-prefix, or remove the key");
        }
    }

    /** Returns the run id in a reply of a server that has been restarted too recently. */
    String runId() {
        return parts[2];
    }

    /** Returns the uptime, by the server's wall clock, in the same reply. */
    long uptimeSeconds() {
        return number(3);
    }

    /** Reads the answer to an acquisition, whose hold Redis was to keep for longer than was asked for. */
    AcquireReply toAcquireReply(long askedMillis, long longerMillis) {
        return switch (status) {
            case AS_USUAL -> new AcquireReply.Acquired(askedMillis, List.of(serverMicros()));
            // A short lease, of what may be a late copy, is renewed at once: half of it is enough for that.
            case "ACQUIRED" ->
                new AcquireReply.Acquired(
                        Math.min(askedMillis, Math.max(number(2) - longerMillis, number(2) / 2)), tokens());
            case "QUEUED" -> new AcquireReply.Queued(parts[2], number(3), serverMicros() / 1_000);
            case "BUSY" -> new AcquireReply.Busy(parts[2]);
            // Others had the lock since the command was sent, so long ago that a hold would be too short to be of use.
            case "LATE" -> new AcquireReply.Busy("");
            case "ENDED" -> new AcquireReply.Ended();
            case "YOUNG" ->
                throw new StoreException(
                        "the server was started less than a lease ago and may have forgotten locks", null);
            default -> throw unexpected();
        };
    }

    private List<Long> tokens() {
        return IntStream.range(3, parts.length).mapToObj(this::number).toList();
    }

    ReleaseReply toReleaseReply() {
        return switch (status) {
            case AS_USUAL, "RELEASED" -> ReleaseReply.RELEASED;
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
        ClaimMode mode = Stream.of(ClaimMode.values())
                .filter(one -> Arguments.letter(one).equals(parts[2]))
                .findFirst()
                .orElseThrow(this::unexpected);
        return Optional.of(new StoredLock(
                name, mode, attempts(parts[5]), number(3), number(4), attempts(parts[6]), (int) number(7)));
    }

    private static List<String> attempts(String ids) {
        return IntStream.range(0, ids.length() / ATTEMPT)
                .mapToObj(i -> ids.substring(i * ATTEMPT, (i + 1) * ATTEMPT))
                .toList();
    }

    private StoreException unexpected() {
        return new StoreException("a script answered " + status + ", which was not expected here", null);
    }

    /** Returns a digit for each hold that was to be renewed, 1: it was. */
    String renewed() {
        return parts[1];
    }

    private long number(int position) {
        return Long.parseLong(parts[position]);
    }
}
