/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.autoconfigure.actuate.LocksDescription.ForcedRelease;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

/** The same with the means to take a lock away. */
@EndpointWebExtension(endpoint = ForcibleLocksEndpoint.class)
class ForcibleLocksWebExtension extends LocksWebExtension {

    private final ForcibleLocksEndpoint endpoint;

    ForcibleLocksWebExtension(ForcibleLocksEndpoint endpoint, LocksPage page) {
        super(endpoint, page);
        this.endpoint = endpoint;
    }

    /**
     * Takes a lock away from its holder. Breaks mutual exclusion until the holder has heard of it.
     *
     * @param name the lock's name
     * @return whether it was held
     */
    @DeleteOperation
    public ForcedRelease forceReleaseNamed(String name) {
        return endpoint.forceRelease(name);
    }

    /**
     * Takes a lock away from its holder. Breaks mutual exclusion until the holder has heard of it.
     *
     * @param name the lock's name, percent-encoded but for slashes
     * @return whether it was held
     */
    @DeleteOperation
    public ForcedRelease forceRelease(@Selector(match = Match.ALL_REMAINING) String... name) {
        return endpoint.forceRelease(LockPath.exactName(name));
    }
}
