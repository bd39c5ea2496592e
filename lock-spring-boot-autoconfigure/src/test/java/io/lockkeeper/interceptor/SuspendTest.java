/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockUpgradeException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Suspend functions of real Kotlin; what they share with all kinds of results is in the matrix. */
class SuspendTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private final ApplicationContextRunner runner = runner().withBean(SuspendingShop.class);

    @Test
    void theLeaseIsCurrentOnWhicheverThreadRunsTheCoroutine() {
        check(Coroutines::token, result -> assertThat(result).succeedsWithin(SOON));
    }

    @Test
    void nestedFunctionsEnterTheLockAgain() {
        check(Coroutines::twice, result -> assertThat(result.join()).hasSize(1));
    }

    @Test
    void nestedFunctionsMayTakeOtherLocks() {
        check(Coroutines::nested, result -> assertThat(result.join()).containsExactly("shop:other:1", "shop:a"));
    }

    @Test
    void theContinuationIsNoArgument() {
        check(Coroutines::names, result -> assertThat(result.join()).containsExactly("shop:a:1"));
    }

    @Test
    void aReaderIsNotUpgraded() {
        check(Coroutines::upgrade, result -> assertThat(result)
                .failsWithin(SOON)
                .withThrowableThat()
                .withCauseInstanceOf(LockUpgradeException.class));
    }

    @Test
    void flowsAreLockedWhileTheyAreCollected() {
        check(Coroutines::flow, result -> assertThat(result.join()).containsExactly("a", "b"));
        check(Coroutines::suspendedFlow, result -> assertThat(result.join()).containsExactly("a", "b"));
    }

    @Test
    void aFunctionMayReturnNothing() {
        check(Coroutines::nothing, result -> assertThat(result).succeedsWithin(SOON));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "continuation | name | uses #p1, which is no parameter",
                "skipsNumber | skipWhenLocked | returns null, which Integer excludes",
                "text | fallbackMethod | number(String) returns int where String is needed"
            })
    void whatCannotWorkIsAFault(String method, String attribute, String problem) {
        assertThat(new SpecFixture().faults(WrongSuspendingShop.class, method))
                .singleElement()
                .satisfies(fault -> {
                    assertThat(fault.attribute()).isEqualTo(attribute);
                    assertThat(fault.problem()).contains(problem);
                    assertThat(fault.method()).doesNotContain("Continuation");
                });
    }

    @Test
    void aLockThatShouldBeWovenIntoASuspendFunctionIsAFault() {
        AnnotatedMethod method = AnnotatedMethod.allOf(SuspendingShop.class).stream()
                .filter(each -> each.method().getName().equals("token"))
                .findFirst()
                .orElseThrow();
        Faults faults = new Faults(method);
        MethodCheck.WeavingCheck.check(method, faults);
        assertThat(faults.found()).singleElement().satisfies(fault -> assertThat(fault.toString())
                .contains("token(String): is a suspend function", "CompletableFuture or a Mono"));
    }

    private <T> void check(Function<SuspendingShop, CompletableFuture<T>> call, Outcome<T> outcome) {
        runner.run(context -> {
            outcome.check(call.apply(context.getBean(SuspendingShop.class)));
            assertThat(context.getBean(LockTemplate.class).lock("shop:a").isLocked())
                    .isFalse();
        });
    }

    private interface Outcome<T> {
        void check(CompletableFuture<T> result);
    }
}
