/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockStatus;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.ForcedRelease;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Found;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Here;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Instance;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Lock;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Wait;
import io.lockkeeper.autoconfigure.actuate.LocksWebExtension.MediaType;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.util.MimeTypeUtils;

/**
 * Shows locks: what this instance holds and waits for; one lock with its holders and waiters, wherever they are; locks
 * by a pattern of their names. Takes one away from its holder, where that is switched on.
 */
@Endpoint(id = "locks")
@RegisterReflectionForBinding({Here.class, Found.class, LocksDescription.Refused.class})
public class LocksEndpoint {

    private static final Logger log = LoggerFactory.getLogger(LocksEndpoint.class);
    private static final int DEFAULT_LIMIT = 100;
    private static final int MAX_LIMIT = 1_000;

    /** Among so many locks of all applications own ones are looked for. */
    private static final int MOST_SEEN = 10_000;

    private final Map<String, LockInspector> inspectors;
    private final @Nullable String primary;
    final boolean forceRelease;

    /** Creates it; primary: the template that answers where several have a lock of one name; null: none. */
    LocksEndpoint(Map<String, LockInspector> inspectors, @Nullable String primary, boolean forceRelease) {
        this.inspectors = inspectors;
        this.primary = primary;
        this.forceRelease = forceRelease;
    }

    /**
     * Shows what this instance holds and waits for, or finds locks by name.
     *
     * @param pattern a glob in the syntax of Redis; without it, locks of this instance are shown
     * @param limit the largest number of locks to find, 100 unless given, at most 1,000
     * @return what was found
     */
    // The types are those of MediaType: the operation of the web extension takes the place of one with the same types.
    @ReadOperation(
            produces = {MediaType.V2, MediaType.V3, MimeTypeUtils.APPLICATION_JSON_VALUE, MimeTypeUtils.TEXT_HTML_VALUE
            })
    @SuppressWarnings("deprecation") // Spring Boot 3.5 knows optional parameters only by this annotation.
    public LocksDescription locks(
            @org.springframework.lang.Nullable String pattern, @org.springframework.lang.Nullable Integer limit) {
        return pattern == null ? here(null) : found(pattern, limit, false, null);
    }

    Here here(@Nullable String template) {
        return new Here(
                each(template, (name, inspector) -> inspector.heldHere().stream()
                        .map(status -> Lock.of(status, true, name))),
                each(template, (name, inspector) -> inspector.waitingHere().stream()
                        .map(wait -> Wait.of(wait, name))),
                each(template, (name, inspector) -> inspector.here().stream().map(Instance::of)).stream()
                        .findFirst()
                        .orElse(null),
                Instant.now().toString());
    }

    Found found(String pattern, @Nullable Integer limit, boolean own, @Nullable String template) {
        int most = limit == null ? DEFAULT_LIMIT : Math.min(limit, MAX_LIMIT);
        if (most < 1) {
            throw refused("The limit must be 1 or more, but is " + limit);
        }
        List<Found> found = each(
                template,
                (name, inspector) -> Stream.of(checked(() -> own
                        ? ownLocks(name, inspector, pattern, most)
                        : locks(name, inspector.find(pattern, most + 1)))));
        List<Lock> locks = found.stream().flatMap(each -> each.locks().stream()).toList();
        return new Found(
                locks.stream().limit(most).toList(),
                locks.size() > most || found.stream().anyMatch(Found::more));
    }

    private static Found locks(@Nullable String template, Collection<LockStatus> found) {
        return new Found(
                found.stream().map(status -> Lock.of(status, false, template)).toList(), false);
    }

    /** Looks at more and more locks until there are more own ones than asked for, or all were seen. */
    private static Found ownLocks(@Nullable String template, LockInspector inspector, String pattern, int most) {
        String service = inspector.here().map(LockInstance::service).orElse("");
        for (int seen = MAX_LIMIT; ; seen *= 10) {
            List<LockStatus> all = inspector.find(pattern, seen);
            List<LockStatus> own =
                    all.stream().filter(status -> concerns(status, service)).toList();
            if (own.size() > most || all.size() < seen || seen >= MOST_SEEN) {
                boolean unseen = all.size() >= seen
                        || all.stream().anyMatch(lock -> lock.waiters().size() < lock.waiting() && !own.contains(lock));
                return new Found(locks(template, own).locks(), unseen);
            }
        }
    }

    private static boolean concerns(LockStatus status, String service) {
        return Stream.concat(status.holders().stream(), status.waiters().stream())
                .anyMatch(instance -> instance.service().equals(service));
    }

    /**
     * Shows one lock.
     *
     * @param name the lock's name, which may contain slashes
     * @return its state; null where it has no holder and no waiter
     */
    @ReadOperation
    public @Nullable Lock lock(@Selector(match = Match.ALL_REMAINING) String... name) {
        return one(String.join("/", name), null);
    }

    /** Shows one lock, of a template or of the only one that knows a lock of this name. */
    @Nullable
    Lock one(String lock, @Nullable String template) {
        List<Lock> known = each(template, (name, inspector) -> checked(() -> inspector.status(lock)).stream()
                .map(status -> Lock.of(status, false, name)));
        if (known.size() > 1) {
            Optional<Lock> first = known.stream()
                    .filter(found -> Objects.equals(found.template(), primary))
                    .findFirst();
            if (first.isPresent()) {
                return first.get();
            }
            throw refused("Several templates have a lock of this name: give the parameter template, one of "
                    + known.stream().map(Lock::template).toList());
        }
        return known.isEmpty() ? null : known.get(0);
    }

    /**
     * Takes a lock away from its holder. Breaks mutual exclusion until the holder has heard of it.
     *
     * @param name the lock's name, which may contain slashes
     * @return whether it was held
     */
    @DeleteOperation
    public ForcedRelease forceRelease(@Selector(match = Match.ALL_REMAINING) String... name) {
        return release(String.join("/", name), null);
    }

    ForcedRelease release(String lock, @Nullable String template) {
        if (!forceRelease) {
            throw new UnsupportedOperationException(
                    "Locks are not taken away: set lockkeeper.actuator.force-release.enabled=true to allow it");
        }
        String owner = template;
        if (inspectors.size() > 1 && template == null) {
            Lock known = one(lock, null);
            owner = known == null ? null : known.template();
            if (owner == null) {
                return new ForcedRelease(lock, false);
            }
        }
        boolean released = each(owner, (name, inspector) -> Stream.of(checked(() -> inspector.forceRelease(lock))))
                .contains(true);
        if (released) {
            log.warn("Lock '{}' was taken away from its holder through the actuator", lock);
        }
        return new ForcedRelease(lock, released);
    }

    /** Asks the inspector of a template, or of each; the name is null where there is only one. */
    private <T> List<T> each(
            @Nullable String template, BiFunction<@Nullable String, LockInspector, Stream<T>> question) {
        if (template != null && !inspectors.containsKey(template)) {
            throw refused("There is no template '" + template + "': give as the parameter template one of "
                    + inspectors.keySet());
        }
        return inspectors.entrySet().stream()
                .filter(known -> template == null || known.getKey().equals(template))
                .flatMap(known -> question.apply(inspectors.size() > 1 ? known.getKey() : null, known.getValue()))
                .toList();
    }

    private static <T> T checked(Supplier<T> request) {
        try {
            return request.get();
        } catch (IllegalArgumentException nonsense) {
            throw refused(String.valueOf(nonsense.getMessage()));
        }
    }

    /** Over JMX the message is all that is seen, over HTTP the reason. */
    static InvalidEndpointRequestException refused(String reason) {
        return new InvalidEndpointRequestException(reason, reason);
    }
}
