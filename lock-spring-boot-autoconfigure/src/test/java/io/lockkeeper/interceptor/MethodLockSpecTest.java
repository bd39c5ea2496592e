/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import kotlinx.coroutines.CompletableDeferredKt;
import kotlinx.coroutines.Deferred;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.ConnectableFlux;
import reactor.core.publisher.Flux;

class MethodLockSpecTest {

    private final SpecFixture fixture = new SpecFixture();

    @Test
    void whatTheAnnotationDoesNotSayIsLeftToTheTemplate() {
        LockRequest request = request("plain");
        assertThat(request.mode()).isEqualTo(LockMode.EXCLUSIVE);
        assertThat(request.waitTime()).isNull();
        assertThat(request.leaseTime()).isNull();
        assertThat(request.retryCount()).isZero();
        assertThat(request.retryDelay()).isNull();
        assertThat(request.minHoldTime()).isZero();
        assertThat(request.label()).isEqualTo("Methods.plain");
    }

    @Test
    void everyAttributeReachesTheRequest() {
        LockRequest request = request("full");
        assertThat(request.mode()).isEqualTo(LockMode.FAIR);
        assertThat(request.waitTime()).isEqualTo(Duration.ofSeconds(3));
        assertThat(request.leaseTime()).isEqualTo(Duration.ofSeconds(90));
        assertThat(request.retryCount()).isEqualTo(2);
        assertThat(request.retryDelay()).isEqualTo(Duration.ofMillis(20));
        assertThat(request.minHoldTime()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void aMinimumHoldThatIsSwitchedOffIsNone() {
        assertThat(request("noHold").minHoldTime()).isZero();
    }

    @Test
    void retriesMayLeaveTheirDelayToTheTemplate() {
        assertThat(request("retries").retryCount()).isEqualTo(4);
        assertThat(request("retries").retryDelay()).isNull();
    }

    @Test
    void aCallThatMayBeSkippedDoesNotWaitUnlessItSaysSo() {
        assertThat(request("skips").waitTime()).isZero();
        assertThat(request("skipsAfterAWait").waitTime()).isEqualTo(Duration.ofSeconds(1));
        assertThat(fixture.spec(Methods.class, "skips").skippedResult()).isEqualTo(Optional.empty());
        assertThat(fixture.spec(Methods.class, "skipsAfterAWait").skippedResult())
                .isNull();
    }

    @Test
    void aSpecIsResolvedOnce() {
        assertThat(fixture.spec(Methods.class, "plain")).isSameAs(fixture.spec(Methods.class, "plain"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "negativeWait | waitTime | '-2s' is too short",
                "zeroLease | leaseTime | '0s' is too short",
                "shortLease | leaseTime | '99ms' is too short",
                "untilReleased | leaseTime | '-1' is too short",
                "unreadableDelay | retryDelay | 'soon' is not a duration",
                "zeroDelay | retryDelay | too short",
                "negativeHold | minHoldTime | too short",
                "noUnit | waitTime | '20' has no unit",
                "unreadablePlaceholder | waitTime | '${unknown.wait:never}', which is 'never', is not a duration",
                "unknownPlaceholder | waitTime | cannot be resolved",
                "negativeRetries | retryCount | -1 is negative",
                "skipsPrimitive | skipWhenLocked | cannot return int",
                "skipsWithFallback | skipWhenLocked | does not go together with fallbackMethod",
                "unknownTemplate | lockTemplate | there is no bean 'elsewhere'",
                "ownFuture | `` | returns a Promise, which goes on after the method, and for which no lock can be held",
                "plainFuture | `` | returns a Future",
                "ownPublisher | `` | returns a ConnectableFlux",
                "deferred | `` | returns a Deferred"
            })
    void whatCannotWorkIsAFault(String method, String attribute, String problem) {
        assertThat(fixture.faults(Wrong.class, method)).singleElement().satisfies(fault -> {
            assertThat(fault.attribute()).isEqualTo(attribute);
            assertThat(fault.problem()).contains(problem);
            assertThat(fault.remedy()).isNotBlank();
        });
    }

    @Test
    void aBeanThatIsNoLockOperationsIsAFault() {
        assertThat(new SpecFixture().withBean("elsewhere", "text").faults(Wrong.class, "unknownTemplate"))
                .singleElement()
                .satisfies(fault -> assertThat(fault.problem()).contains("is no LockOperations"));
    }

    @Test
    void severalTemplatesOfWhichNoneIsNamedAreAFault() {
        SpecFixture one = new SpecFixture().withBean("one", LockTemplate.withoutLocking());
        assertThat(one.faults(Methods.class, "plain")).isEmpty();
        assertThat(one.withBean("other", LockTemplate.withoutLocking()).faults(Methods.class, "plain"))
                .singleElement()
                .satisfies(fault -> assertThat(fault.problem()).contains("there are several beans to lock with"));
    }

    @Test
    void aMethodThatNobodyCheckedFailsAtItsFirstCall() {
        assertThatExceptionOfType(DistributedLockedConfigurationException.class)
                .isThrownBy(() -> fixture.spec(Wrong.class, "noUnit"))
                .withMessageContaining("Wrong.noUnit(), waitTime: '20' has no unit. Write 20ms");
    }

    private LockRequest request(String method) {
        return fixture.spec(Methods.class, method).request(new Methods(), new Object[0]);
    }

    static class Methods {
        @DistributedLocked
        void plain() {}

        @DistributedLocked(minHoldTime = "${unknown.hold:0s}")
        void noHold() {}

        @DistributedLocked(
                mode = LockMode.FAIR,
                waitTime = "${known.wait}",
                leaseTime = "PT1M30S",
                retryCount = 2,
                retryDelay = "20ms",
                minHoldTime = "${unknown.hold:5s}")
        void full() {}

        @DistributedLocked(retryCount = 4)
        void retries() {}

        @DistributedLocked(skipWhenLocked = true)
        Optional<String> skips() {
            return Optional.of("ran");
        }

        @DistributedLocked(skipWhenLocked = true, waitTime = "1s")
        String skipsAfterAWait() {
            return "ran";
        }
    }

    static class Wrong {
        @DistributedLocked(waitTime = "-2s")
        void negativeWait() {}

        @DistributedLocked(leaseTime = "0s")
        void zeroLease() {}

        @DistributedLocked(leaseTime = "99ms")
        void shortLease() {}

        @DistributedLocked(leaseTime = "-1")
        void untilReleased() {}

        @DistributedLocked(retryCount = 1, retryDelay = "soon")
        void unreadableDelay() {}

        @DistributedLocked(retryCount = 1, retryDelay = "0")
        void zeroDelay() {}

        @DistributedLocked(minHoldTime = "-1s")
        void negativeHold() {}

        @DistributedLocked(waitTime = "20")
        void noUnit() {}

        @DistributedLocked(waitTime = "${unknown.wait:never}")
        void unreadablePlaceholder() {}

        @DistributedLocked(waitTime = "${unknown.wait}")
        void unknownPlaceholder() {}

        @DistributedLocked(retryCount = -1)
        void negativeRetries() {}

        @DistributedLocked(skipWhenLocked = true)
        int skipsPrimitive() {
            return 0;
        }

        @DistributedLocked(skipWhenLocked = true, fallbackMethod = "busy")
        void skipsWithFallback() {}

        void busy() {}

        @DistributedLocked(lockTemplate = "elsewhere")
        void unknownTemplate() {}

        @DistributedLocked
        Promise ownFuture() {
            return new Promise();
        }

        @DistributedLocked
        Future<String> plainFuture() {
            return ownFuture();
        }

        @DistributedLocked
        ConnectableFlux<String> ownPublisher() {
            return Flux.just("").publish();
        }

        @DistributedLocked
        Deferred<String> deferred() {
            return CompletableDeferredKt.CompletableDeferred(null);
        }
    }

    static class Promise extends CompletableFuture<String> {}
}
