/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** The health of locks, for Spring Boot 4. */
final class LockHealthIndicator extends AbstractHealthIndicator {

    private final LockHealth health;

    LockHealthIndicator(LockHealth health) {
        super("The health of locks could not be found out");
        this.health = health;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        LockHealth.Report report = health.look();
        builder.status(report.status()).withDetails(report.details());
    }
}
