/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.autoconfigure.actuate.LocksDescription.Lock;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

/** The endpoint {@code locks} over HTTP: a page for people, the same as JSON for programs, and names as a parameter. */
@EndpointWebExtension(endpoint = LocksEndpoint.class)
class LocksWebExtension {

    private final LocksEndpoint endpoint;
    private final LocksPage page;

    LocksWebExtension(LocksEndpoint endpoint, LocksPage page) {
        this.endpoint = endpoint;
        this.page = page;
    }

    /**
     * Shows the page, or what this instance holds and waits for, locks by a pattern of their names, or one lock.
     *
     * @param pattern a glob in the syntax of Redis
     * @param limit the largest number of locks to find
     * @param name the name of the only lock to show, in place of a pattern
     * @param own whether to find only locks that instances of this application hold or wait for; false unless given
     * @param type what the client accepts
     * @return the answer; 404 where the lock of this name has no holder and no waiter
     */
    @ReadOperation(producesFrom = LocksMediaType.class)
    @SuppressWarnings("deprecation") // Spring Boot 3.5 knows optional parameters only by this annotation.
    public WebEndpointResponse<Object> locks(
            @org.springframework.lang.Nullable String pattern,
            @org.springframework.lang.Nullable Integer limit,
            @org.springframework.lang.Nullable String name,
            @org.springframework.lang.Nullable Boolean own,
            LocksMediaType type) {
        if (type == LocksMediaType.HTML) {
            return new WebEndpointResponse<>(page.render(), type);
        }
        if (name != null && pattern != null) {
            throw new InvalidEndpointRequestException(
                    "name and pattern were both given", "Give a name or a pattern, not both");
        }
        Object found = name != null ? endpoint.lock(name) : endpoint.locks(pattern, limit, Boolean.TRUE.equals(own));
        return found == null
                ? new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND)
                : new WebEndpointResponse<>(found, type);
    }

    /**
     * Shows one lock.
     *
     * @param name the lock's name, percent-encoded but for slashes
     * @return its state; null where it has no holder and no waiter
     */
    @ReadOperation
    public @Nullable Lock lock(@Selector(match = Match.ALL_REMAINING) String... name) {
        return endpoint.lock(LockPath.exactName(name));
    }
}
