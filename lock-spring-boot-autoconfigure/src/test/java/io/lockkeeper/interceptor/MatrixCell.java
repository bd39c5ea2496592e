/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The dimensions of the matrix of return types. */
record MatrixCell(Proxies proxies, Kind kind, Scenario scenario) {

    /** How beans are proxied. */
    enum Proxies {
        CLASS,
        INTERFACE
    }

    /** What a method returns. */
    enum Kind {
        VALUE {
            @Override
            CompletableFuture<?> call(Kinds bean, Play play) {
                return blocking(() -> bean.value(play));
            }
        },
        VOID {
            @Override
            CompletableFuture<?> call(Kinds bean, Play play) {
                return blocking(() -> {
                    bean.nothing(play);
                    return null;
                });
            }
        },
        FUTURE {
            @Override
            CompletableFuture<?> call(Kinds bean, Play play) {
                return bean.future(play);
            }
        },
        STAGE {
            @Override
            CompletableFuture<?> call(Kinds bean, Play play) {
                return bean.stage(play).toCompletableFuture();
            }
        },
        MONO {
            @Override
            CompletableFuture<?> call(Kinds bean, Play play) {
                return bean.mono(play).toFuture();
            }

            @Override
            CompletableFuture<?> callFor(Kinds bean, Play play, long millis) {
                return bean.mono(play).timeout(Duration.ofMillis(millis)).toFuture();
            }
        },
        FLUX {
            @Override
            CompletableFuture<?> call(Kinds bean, Play play) {
                return bean.flux(play)
                        .single()
                        .onErrorComplete(java.util.NoSuchElementException.class)
                        .toFuture();
            }

            @Override
            CompletableFuture<?> callFor(Kinds bean, Play play, long millis) {
                return bean.flux(play).timeout(Duration.ofMillis(millis)).next().toFuture();
            }
        },
        SUSPEND {
            @Override
            CompletableFuture<?> call(Kinds bean, Play play) {
                return Coroutines.suspending(bean, play);
            }

            @Override
            CompletableFuture<?> callFor(Kinds bean, Play play, long millis) {
                return Coroutines.suspending(bean, play, millis);
            }
        };

        abstract CompletableFuture<?> call(Kinds bean, Play play);

        /** Calls the method, and gives up after a while. */
        CompletableFuture<?> callFor(Kinds bean, Play play, long millis) {
            return call(bean, play).orTimeout(millis, TimeUnit.MILLISECONDS);
        }

        boolean isBlocking() {
            return this == VALUE || this == VOID;
        }

        private static CompletableFuture<?> blocking(java.util.concurrent.Callable<?> call) {
            try {
                return CompletableFuture.completedFuture(call.call());
            } catch (Throwable failure) {
                return CompletableFuture.failedFuture(failure);
            }
        }
    }

    /** What happens to a call, and where. */
    enum Scenario {
        SUCCEEDS_AT_ONCE,
        SUCCEEDS_LATER,
        NAME_FAILS,
        BUSY,
        BUSY_AND_SKIPPED,
        BUSY_WITH_FALLBACK,
        UNREACHABLE,
        UNREACHABLE_AND_NOT_SKIPPED,
        UNREACHABLE_WITH_FALLBACK,
        THROWS,
        THROWS_WITH_FALLBACK,
        FAILS_LATER,
        FAILS_LATER_WITH_FALLBACK,
        CANCELLED_WHILE_WAITING,
        CANCELLED_IN_THE_BODY,
        TIMES_OUT,
        LOSS_REPORTED,
        LOSS_FAILS,
        LOSS_AND_FAILURE,
        LOSS_INTERRUPTS;

        /** Where the annotation says what the scenario needs. */
        Class<? extends Kinds> bean() {
            return switch (this) {
                case BUSY_AND_SKIPPED, UNREACHABLE_AND_NOT_SKIPPED -> SkippingKinds.class;
                case BUSY_WITH_FALLBACK, UNREACHABLE_WITH_FALLBACK, THROWS_WITH_FALLBACK, FAILS_LATER_WITH_FALLBACK ->
                    FallingBackKinds.class;
                case CANCELLED_WHILE_WAITING -> PatientKinds.class;
                case LOSS_REPORTED -> ReportingKinds.class;
                case LOSS_FAILS, LOSS_AND_FAILURE -> FailingKinds.class;
                case LOSS_INTERRUPTS -> InterruptingKinds.class;
                default -> PlainKinds.class;
            };
        }

        boolean isBusy() {
            return name().startsWith("BUSY") || this == CANCELLED_WHILE_WAITING;
        }

        boolean isUnreachable() {
            return name().startsWith("UNREACHABLE");
        }

        boolean isEndedByTheCaller() {
            return name().startsWith("CANCELLED") || this == TIMES_OUT;
        }

        boolean isLoss() {
            return name().startsWith("LOSS");
        }

        boolean appliesTo(Kind kind) {
            return this != TIMES_OUT || !kind.isBlocking();
        }

        /** Whether the body runs at all. */
        boolean begins() {
            return !isBusy() && !isUnreachable() && this != NAME_FAILS;
        }
    }

    @Override
    public String toString() {
        return scenario + " " + kind + " " + proxies;
    }
}
