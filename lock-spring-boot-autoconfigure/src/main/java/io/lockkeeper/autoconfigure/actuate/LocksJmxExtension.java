/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.autoconfigure.actuate.LocksDescription.ForcedRelease;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Lock;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.jmx.annotation.EndpointJmxExtension;

/** The endpoint {@code locks} over JMX: a name is one text, which Spring Boot would split at its commas. */
@EndpointJmxExtension(endpoint = LocksEndpoint.class)
@SuppressWarnings("deprecation") // Spring Boot 3.5 knows optional parameters only by this annotation.
class LocksJmxExtension {

    private final LocksEndpoint endpoint;

    LocksJmxExtension(LocksEndpoint endpoint) {
        this.endpoint = endpoint;
    }

    @ReadOperation
    public @Nullable Lock lock(String name, @org.springframework.lang.Nullable String template) {
        return endpoint.one(name, template);
    }

    /** Takes a lock away from its holder. Breaks mutual exclusion until the holder has heard of it. */
    @DeleteOperation
    public ForcedRelease forceRelease(String name, @org.springframework.lang.Nullable String template) {
        return endpoint.release(name, template);
    }
}
