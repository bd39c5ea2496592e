/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Found;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Here;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Instance;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Lock;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Wait;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.util.MimeTypeUtils;

/**
 * Shows locks: what this instance holds and waits for; one lock with its holders and waiters, wherever they are; locks
 * by a pattern of their names.
 */
@Endpoint(id = "locks")
public class LocksEndpoint {

    private static final int DEFAULT_LIMIT = 100;
    private static final int MAX_LIMIT = 1_000;

    private final LockInspector inspector;

    LocksEndpoint(LockInspector inspector) {
        this.inspector = inspector;
    }

    /**
     * Shows what this instance holds and waits for, or finds locks by name.
     *
     * @param pattern a glob in the syntax of Redis; without it, locks of this instance are shown
     * @param limit the largest number of locks to find, 100 unless given, at most 1,000
     * @return what was found
     */
    // The types are those of LocksMediaType: the operation of the web extension takes the place of one with the same
    // types.
    @ReadOperation(
            produces = {
                LocksMediaType.V2,
                LocksMediaType.V3,
                MimeTypeUtils.APPLICATION_JSON_VALUE,
                MimeTypeUtils.TEXT_HTML_VALUE
            })
    @SuppressWarnings("deprecation") // Spring Boot 3.5 knows optional parameters only by this annotation.
    public LocksDescription locks(
            @org.springframework.lang.Nullable String pattern, @org.springframework.lang.Nullable Integer limit) {
        return locks(pattern, limit, false);
    }

    /**
     * The same.
     *
     * @param own whether to find only locks that instances of this application hold or wait for
     */
    LocksDescription locks(@Nullable String pattern, @Nullable Integer limit, boolean own) {
        if (pattern == null) {
            return new Here(
                    inspector.heldHere().stream().map(Lock::heldHere).toList(),
                    inspector.waitingHere().stream().map(Wait::of).toList(),
                    inspector.here().map(Instance::of).orElse(null),
                    Instant.now().toString());
        }
        int most = limit == null ? DEFAULT_LIMIT : Math.min(limit, MAX_LIMIT);
        Optional<LockInstance> here = own ? inspector.here() : Optional.empty();
        return new Found(
                checked(() -> inspector.find(pattern, here.isPresent() && most > 0 ? MAX_LIMIT : most)).stream()
                        .filter(status ->
                                here.isEmpty() || concerns(status, here.get().application()))
                        .limit(most)
                        .map(Lock::of)
                        .toList());
    }

    private static boolean concerns(LockStatus status, String application) {
        return Stream.concat(status.holders().stream(), status.waiters().stream())
                .anyMatch(instance -> instance.application().equals(application));
    }

    /**
     * Shows one lock.
     *
     * @param name the lock's name, which may contain slashes
     * @return its state; null where it has no holder and no waiter
     */
    @ReadOperation
    public @Nullable Lock lock(@Selector(match = Match.ALL_REMAINING) String... name) {
        return checked(() -> inspector.status(name(name))).map(Lock::of).orElse(null);
    }

    static String name(String... segments) {
        return String.join("/", segments);
    }

    /** A name or number that makes no sense is the fault of whoever sent it; a store that is away is nobody's. */
    static <T> T checked(Supplier<T> request) {
        try {
            return request.get();
        } catch (IllegalArgumentException nonsense) {
            throw new InvalidEndpointRequestException(
                    "the request makes no sense", String.valueOf(nonsense.getMessage()), nonsense);
        } catch (LockStoreException failure) {
            throw new LockStoreUnavailableException(failure);
        }
    }
}
