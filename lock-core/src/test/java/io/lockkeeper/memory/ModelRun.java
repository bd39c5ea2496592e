/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.memory.MemoryScripts.Sending;
import io.lockkeeper.memory.ModelCommand.Acquire;
import io.lockkeeper.memory.ModelCommand.Asker;
import io.lockkeeper.memory.ModelCommand.HandOver;
import io.lockkeeper.memory.ModelCommand.Release;
import io.lockkeeper.memory.ModelCommand.Renew;
import io.lockkeeper.memory.ModelCommand.Renewal;
import io.lockkeeper.memory.ModelCommand.Revoke;
import io.lockkeeper.memory.ModelCommand.Step;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoredLock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Runs commands on the model of the record, and tells for each what the script must get and must say. */
final class ModelRun {

    static final String KEY_PREFIX = "m:lock:";
    static final String CHANNEL_PREFIX = "m:";
    static final long TOMBSTONE_MILLIS = 4 * 3_600_000L;
    static final int MOST = 2;
    private static final long LEASE_MILLIS = 500;

    private final Map<String, MemoryRecord> records = new HashMap<>();
    private final Map<String, Asker> askers = new HashMap<>();
    private final Map<String, Long> firstTokens = new HashMap<>();
    private final IdentityHashMap<ModelCommand, List<Long>> settledTokens = new IdentityHashMap<>();
    private final List<String> messages = new ArrayList<>();
    private int revocations;

    /**
     * A call of a script.
     *
     * @param script its name
     * @param keys the keys
     * @param arguments the arguments, without the time
     * @param reply what it answers, its parts with a blank between them; of BUSY the first three
     * @param messages what it publishes, a line each
     * @param records the records that it leaves, a line for each key
     * @param limited whether it left some work for the next one, because there were many waiters
     */
    record Call(
            String script,
            List<String> keys,
            List<String> arguments,
            String reply,
            String messages,
            String records,
            boolean limited) {}

    MemoryRecord record(String name) {
        return records.computeIfAbsent(
                name,
                key -> limited(new MemoryRecord(key, 0, (attempt, message) -> {
                    String channel = CHANNEL_PREFIX + attempt.substring(0, 12);
                    message.accept(new Messages(channel, KEY_PREFIX + key));
                })));
    }

    private static MemoryRecord limited(MemoryRecord record) {
        record.most = MOST;
        return record;
    }

    /** Returns what an owner asked for. */
    Asker asker(String id) {
        return Objects.requireNonNull(askers.get(id), "only who asked can hold a lock");
    }

    Call run(Step step) {
        messages.clear();
        List<MemoryRecord> touched =
                step.command().names().stream().map(this::record).toList();
        List<String> arguments = new ArrayList<>();
        String script = step.command().getClass().getSimpleName().toLowerCase(Locale.ROOT);
        String reply = reply(step, touched, arguments);
        touched.forEach(this::noteToken);
        return new Call(
                script,
                touched.stream().map(record -> KEY_PREFIX + record.name).toList(),
                arguments,
                reply,
                messagesOf(touched),
                touched.stream().map(RecordText::of).collect(Collectors.joining("\n")),
                touched.stream().anyMatch(MemoryRecord::isLimited));
    }

    /** Scripts save one record after the other, and publish then what is to be told of it. */
    private String messagesOf(List<MemoryRecord> touched) {
        List<String> told = new ArrayList<>();
        for (MemoryRecord record : new LinkedHashSet<>(touched)) {
            String end = " " + KEY_PREFIX + record.name;
            messages.stream().filter(message -> message.endsWith(end)).forEach(told::add);
        }
        assertThat(told).hasSameSizeAs(messages);
        return String.join("\n", told);
    }

    private void noteToken(MemoryRecord record) {
        Asker owner = askers.get(record.owner);
        if (owner != null && owner.names().get(0).equals(record.name)) {
            firstTokens.put(owner.id(), record.token - owner.tokens() + 1);
        }
    }

    private String reply(Step step, List<MemoryRecord> touched, List<String> arguments) {
        ModelCommand command = step.command();
        if (command instanceof Acquire acquire) {
            Asker asker = acquire.asker();
            add(arguments, claim(asker, acquire.sent(), acquire.notAfter()), settings(asker));
            return MemoryScripts.acquire(touched, claim(asker), sending(acquire), step.micros())
                    .map(reply -> text(reply, asker, step.micros()))
                    .orElse("LATE " + step.micros());
        } else if (command instanceof Release release) {
            long last = lastToken(release, release.asker(), release.used());
            add(arguments, release.by() + digits(16, last));
            if (release.keepMillis() > 0) {
                add(arguments, release.keepMillis());
            }
            add(arguments, settings(release.asker()));
            ReleaseReply released =
                    MemoryScripts.release(touched, release.by(), last, release.keepMillis(), step.micros());
            return text(released) + " " + step.micros() + more(touched);
        } else if (command instanceof HandOver handOver) {
            return handOver(handOver, touched.get(0), step, arguments);
        } else if (command instanceof Renew renew) {
            return renew(renew, touched, step, arguments);
        } else if (command instanceof Revoke) {
            // An id of its own, also where it repeats an earlier one: the model has no driver that would send it again.
            add(arguments, "request" + ++revocations, "9".repeat(16), settings(0, 0));
            boolean revoked = MemoryScripts.revoke(touched.get(0), step.micros());
            return (revoked ? "REVOKED " : "FREE ") + step.micros() + more(touched);
        }
        arguments.add(settings(0, 0));
        return inspect(touched.get(0), step.micros());
    }

    private static String more(List<MemoryRecord> touched) {
        return touched.stream().anyMatch(MemoryRecord::isToBeAskedAgain) ? " MORE" : "";
    }

    private String handOver(HandOver command, MemoryRecord record, Step step, List<String> arguments) {
        long last = lastToken(command, command.asker(), command.used());
        Asker next = command.next();
        add(
                arguments,
                claim(next, 0, command.notAfter()) + command.by() + digits(16, last) + (command.ahead() ? 1 : 0),
                settings(next));
        Sending sending = new Sending(0, command.notAfter(), next.aliveMillis(), grantMillis(next));
        Optional<HandOverReply> reply = MemoryScripts.handOver(
                record, new HandOverCommand(command.by(), last, claim(next), command.ahead()), sending, step.micros());
        return reply.map(answer ->
                        answer.wasHeld() ? text(answer.next(), next, step.micros()) : "NOT_HELD " + step.micros())
                .orElse("LATE " + step.micros());
    }

    private String renew(Renew command, List<MemoryRecord> touched, Step step, List<String> arguments) {
        List<Long> least = settledTokens.computeIfAbsent(command, first -> command.renewals().stream()
                .map(renewal -> renewal.raise() == 0 ? 0 : record(renewal.name()).token + renewal.raise())
                .toList());
        StringBuilder reply = new StringBuilder().append(step.micros()).append(' ');
        StringBuilder attempts = new StringBuilder();
        StringBuilder asked = new StringBuilder();
        for (int i = 0; i < touched.size(); i++) {
            Renewal renewal = command.renewals().get(i);
            attempts.append(renewal.attempt());
            asked.append(digits(13, renewal.leaseMillis()))
                    .append(renewal.exact() ? 1 : 0)
                    .append(digits(16, least.get(i)));
            RenewCommand renew = new RenewCommand(
                    renewal.name(), renewal.attempt(), renewal.leaseMillis(), renewal.exact(), least.get(i));
            reply.append(MemoryScripts.renew(touched.get(i), renew, step.micros()) ? 1 : 0);
        }
        String once = asked.substring(0, 30);
        boolean same = once.repeat(touched.size()).contentEquals(asked);
        add(arguments, attempts, same ? once : asked, settings(0, 0));
        return reply.toString();
    }

    private static String inspect(MemoryRecord record, long micros) {
        Optional<StoredLock> lock = record.inspect(micros / 1_000);
        return lock.map(seen -> String.join(
                        " ",
                        "LOCK",
                        "" + micros,
                        RecordText.letter(seen.mode()),
                        "" + seen.token(),
                        "" + seen.remainingMillis(),
                        String.join("", seen.holders()),
                        String.join("", seen.waiters()),
                        "" + seen.waiting()))
                .orElse("FREE " + micros);
    }

    private long lastToken(ModelCommand command, Asker asker, int used) {
        return settledTokens
                .computeIfAbsent(command, first -> {
                    long own = firstTokens.getOrDefault(asker.id(), 0L);
                    return List.of(used < 0 || own == 0 ? 0 : own - 1 + Math.min(used, asker.tokens()));
                })
                .get(0);
    }

    private static String text(AcquireReply reply, Asker asker, long micros) {
        if (reply instanceof AcquireReply.Acquired acquired) {
            String tokens =
                    acquired.firstTokens().stream().map(token -> " " + token).collect(Collectors.joining());
            return "ACQUIRED " + micros + " " + acquired.leaseMillis() + tokens;
        } else if (reply instanceof AcquireReply.Queued queued) {
            return queued.holder().isEmpty()
                    ? "QUEUED " + micros + " " + asker.id() + " 0"
                    : "QUEUED " + micros + " " + queued.holder() + " " + queued.remainingMillis();
        } else if (reply instanceof AcquireReply.Busy busy) {
            return busy.holder().isEmpty() ? "AGAIN " + micros : "BUSY " + micros + " " + busy.holder();
        }
        return "ENDED " + micros;
    }

    private static String text(ReleaseReply reply) {
        return switch (reply) {
            case RELEASED -> "RELEASED";
            case LEFT_QUEUE -> "LEFT";
            case ALREADY_RELEASED -> "ALREADY";
            case NOT_HELD -> "NOT_HELD";
        };
    }

    private static AcquireCommand claim(Asker asker) {
        return new AcquireCommand(
                asker.names(), asker.id(), asker.mode(), asker.leaseMillis(), asker.aliveMillis() > 0, asker.tokens());
    }

    private static Sending sending(Acquire acquire) {
        Asker asker = acquire.asker();
        return new Sending(acquire.sent(), acquire.notAfter(), asker.aliveMillis(), grantMillis(asker));
    }

    private String claim(Asker asker, long sent, long notAfterMillis) {
        askers.put(asker.id(), asker);
        return digits(16, notAfterMillis * 1_000 + 999)
                + digits(16, sent)
                + RecordText.letter(asker.mode())
                + (asker.aliveMillis() > 0 ? 1 : 0)
                + asker.id() + " "
                + digits(5, asker.tokens()) + " "
                + digits(13, asker.leaseMillis());
    }

    private static long grantMillis(Asker asker) {
        return Math.min(asker.leaseMillis(), asker.grantMillis());
    }

    private static String settings(Asker asker) {
        return settings(asker.aliveMillis(), asker.grantMillis());
    }

    private static String settings(long aliveMillis, long grantMillis) {
        return LongStream.of(LEASE_MILLIS, TOMBSTONE_MILLIS, aliveMillis, grantMillis)
                        .mapToObj(time -> digits(13, time))
                        .collect(Collectors.joining(" "))
                + " " + CHANNEL_PREFIX;
    }

    private static String digits(int width, long number) {
        return String.format("%0" + width + "d", number);
    }

    private static void add(List<String> arguments, Object... values) {
        for (Object value : values) {
            arguments.add(value.toString());
        }
    }

    /** Takes down messages in the form in which the script publishes them. */
    private final class Messages implements StoreListener {

        private final String channel;
        private final String key;

        Messages(String channel, String key) {
            this.channel = channel;
            this.key = key;
        }

        @Override
        public void granted(Grant grant) {
            messages.add(channel + " grant " + grant.attempt() + " " + grant.firstToken() + " "
                    + grant.untilStoreMillis() + " " + key);
        }

        @Override
        public void revoked(String attempt) {
            messages.add(channel + " revoke " + attempt + " " + key);
        }

        @Override
        public void freeIn(String attempt, long remainingMillis) {
            messages.add(channel + " free-at " + attempt + " " + remainingMillis + " " + key);
        }

        @Override
        public void awaited(String attempt) {
            messages.add(channel + " awaited " + attempt + " " + key);
        }

        @Override
        public void channelRestored() {
            throw new AssertionError("a record never says this");
        }
    }
}
