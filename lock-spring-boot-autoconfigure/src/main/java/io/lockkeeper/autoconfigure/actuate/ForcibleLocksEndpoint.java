/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.ForcedRelease;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;

/** Shows locks, and takes one away from its holder. */
@Endpoint(id = "locks")
public class ForcibleLocksEndpoint extends LocksEndpoint {

    private static final Logger log = LoggerFactory.getLogger(ForcibleLocksEndpoint.class);

    private final LockInspector inspector;

    ForcibleLocksEndpoint(LockInspector inspector) {
        super(inspector);
        this.inspector = inspector;
    }

    /**
     * Takes a lock away from its holder. Breaks mutual exclusion until the holder has heard of it.
     *
     * @param name the lock's name, which may contain slashes
     * @return whether it was held
     */
    @DeleteOperation
    public ForcedRelease forceRelease(@Selector(match = Match.ALL_REMAINING) String... name) {
        String joined = name(name);
        boolean released = checked(() -> inspector.forceRelease(joined));
        if (released) {
            log.warn("Lock '{}' was taken away from its holder through the actuator", joined);
        }
        return new ForcedRelease(joined, released);
    }
}
