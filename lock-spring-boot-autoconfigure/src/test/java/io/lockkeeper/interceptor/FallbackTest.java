/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static io.lockkeeper.interceptor.LockedApplication.whileHeldElsewhere;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;

import io.lockkeeper.LockException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.LockedTask;
import io.lockkeeper.annotation.DistributedLocked;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mockito.ArgumentMatchers;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class FallbackTest {

    private final SpecFixture fixture = new SpecFixture();
    private final ApplicationContextRunner runner = runner().withBean(Shop.class);

    @ParameterizedTest
    @CsvSource({
        "same, busy 7",
        "withNotAcquired, not acquired 7",
        "withLockException, lock exception 7",
        "withThrowable, throwable 7",
        "mostSpecific, most specific 7",
        "inherited, inherited 7",
        "ofTheInterface, interface 7",
        "overloaded, overloaded 7"
    })
    void theFallbackRunsWhenOthersHoldTheLock(String method, String expected) {
        runner.run(context -> whileHeldElsewhere(
                context, "shop", () -> assertThat(context.getBean(Shop.class).call(method))
                        .isEqualTo(expected)));
    }

    @ParameterizedTest
    @CsvSource({"withStore, store 7", "withLockException, lock exception 7", "mostSpecific, store failure 7"})
    void theFallbackThatAsksForItRunsWhenTheStoreFails(String method, String expected) {
        assertThat(withFailure(new LockStoreException("down", null), method)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"same", "withNotAcquired", "withThrowable"})
    void aFailingStoreReachesTheCallerUnlessTheFallbackAsksForIt(String method) {
        LockStoreException failure = new LockStoreException("down", null);
        assertThatThrownBy(() -> withFailure(failure, method)).isSameAs(failure);
    }

    @Test
    void whatIsNoFailureOfTheAcquisitionNeverLeadsToTheFallback() {
        LockException failure = new LockUpgradeException("shop", LockMode.WRITE);
        assertThatThrownBy(() -> withFailure(failure, "withThrowable")).isSameAs(failure);
    }

    @Test
    void aLockThatTheBodyDidNotGetNeverLeadsToTheFallback() {
        LockNotAcquiredException inner = new LockNotAcquiredException(List.of("inner"), Duration.ZERO, 1, null);
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThatThrownBy(() -> shop.throwing(inner)).isSameAs(inner);
            LockStoreException store = new LockStoreException("down", null);
            assertThatThrownBy(() -> shop.throwing(store)).isSameAs(store);
            assertThat(inner.getSuppressed()).isEmpty();
        });
    }

    @Test
    void theExceptionOfTheFallbackReachesTheCallerUnchanged() {
        runner.run(context -> whileHeldElsewhere(context, "shop", () -> assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> context.getBean(Shop.class).failing())
                .withMessage("the fallback failed")
                .withNoCause()));
    }

    @Test
    void withoutAFallbackTheFailureReachesTheCaller() {
        runner.run(context ->
                whileHeldElsewhere(context, "shop", () -> assertThatExceptionOfType(LockNotAcquiredException.class)
                        .isThrownBy(() -> context.getBean(Shop.class).plain())));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "missing | there is no method 'nowhere' in Wrong or above it",
                "itself | itself(String) is the annotated method itself",
                "otherParameters | other(int) has other parameters than otherParameters(String)",
                "otherReturn | number(String) returns int where String is needed",
                "otherException | illegal(String, IllegalStateException) has other parameters",
                "nothingReturned | nothing(String) returns void where String is needed"
            })
    void aFallbackThatDoesNotFitIsAFaultThatShowsWhatWouldFit(String method, String problem) {
        assertThat(fixture.faults(Wrong.class, method)).singleElement().satisfies(fault -> {
            assertThat(fault.attribute()).isEqualTo("fallbackMethod");
            assertThat(fault.problem()).contains(problem);
            assertThat(fault.remedy()).contains("(String); String ", "(String, LockNotAcquiredException)");
        });
    }

    @Test
    void whatTheKotlinCompilerAddsToANameIsNotPartOfIt() {
        runner().withBean(MangledShop.class).run(context -> {
            assertThat(context).hasNotFailed();
            MangledShop shop = context.getBean(MangledShop.class);
            String name = MangledShop.class.getName() + ".pay";
            assertThat(MangledShop.pay(shop, "7")).isEqualTo(name);
            assertThat(shop.ship("7")).isEqualTo("order:7");
            whileHeldElsewhere(
                    context, name, () -> assertThat(MangledShop.pay(shop, "7")).isEqualTo("busy 7"));
            whileHeldElsewhere(
                    context, "order:7", () -> assertThat(shop.ship("7")).isEqualTo("hidden 7"));
        });
    }

    @Test
    void aPublicClassHasTheFallbackOfAHiddenOneAboveIt() {
        runner().withBean(OpenShop.class).run(context -> {
            assertThat(context).hasNotFailed();
            whileHeldElsewhere(context, "open", () -> assertThat(
                            context.getBean(OpenShop.class).pay("7"))
                    .isEqualTo("busy 7"));
        });
    }

    abstract static class HiddenShop {
        public String busy(String id) {
            return "busy " + id;
        }
    }

    public static class OpenShop extends HiddenShop {
        @DistributedLocked(value = "open", waitTime = "0s", fallbackMethod = "busy")
        public String pay(String id) {
            return id;
        }
    }

    @Test
    void aGenericSuperclassIsUnderstood() {
        assertThat(fixture.faults(TextWork.class, "other")).isEmpty();
        AnnotatedMethod inherited = AnnotatedMethod.find(SpecFixture.method(Work.class, "work"), TextWork.class);
        assertThat(Fallback.find(inherited, inherited.annotation().fallbackMethod(), new Faults(inherited)))
                .isNotNull();
    }

    private static String withFailure(LockException failure, String method) {
        LockOperations failing = mock(LockOperations.class);
        doThrow(failure)
                .when(failing)
                .run(any(LockRequest.class), ArgumentMatchers.<LockedTask<RuntimeException>>any());
        String[] result = new String[1];
        Throwable[] thrown = new Throwable[1];
        runner().withBean(Shop.class)
                .withBean(LockOperations.class, () -> failing)
                .run(context -> {
                    try {
                        result[0] = context.getBean(Shop.class).call(method);
                    } catch (RuntimeException failed) {
                        thrown[0] = failed;
                    }
                });
        if (thrown[0] instanceof RuntimeException failed) {
            throw failed;
        }
        return result[0];
    }

    interface Defaults {
        default String fromInterface(int number) {
            return "interface " + number;
        }
    }

    static class BaseShop {
        @SuppressWarnings("unused")
        private String above(int number) {
            return "inherited " + number;
        }
    }

    @SuppressWarnings("unused")
    static class Shop extends BaseShop implements Defaults {

        String call(String method) {
            return switch (method) {
                case "same" -> throughProxy().same(7);
                case "withNotAcquired" -> throughProxy().withNotAcquired(7);
                case "withStore" -> throughProxy().withStore(7);
                case "withLockException" -> throughProxy().withLockException(7);
                case "withThrowable" -> throughProxy().withThrowable(7);
                case "mostSpecific" -> throughProxy().mostSpecific(7);
                case "inherited" -> throughProxy().inherited(7);
                case "overloaded" -> throughProxy().overloaded(7);
                case "ofTheInterface" -> throughProxy().ofTheInterface(7);
                default -> throw new IllegalArgumentException(method);
            };
        }

        @Autowired
        private ObjectProvider<Shop> proxy;

        private Shop throughProxy() {
            return proxy.getObject();
        }

        @DistributedLocked("shop")
        void plain() {}

        @DistributedLocked(name = "shop", fallbackMethod = "busy")
        String same(int number) {
            return "body";
        }

        private String busy(int number) {
            return "busy " + number;
        }

        @DistributedLocked(name = "shop", fallbackMethod = "instead")
        String overloaded(int number) {
            return "body";
        }

        String instead(int number) {
            return "overloaded " + number;
        }

        /** No fallback: it takes no exception, but something of the application's. */
        String instead(int number, Object detail) {
            return detail + " " + number;
        }

        @DistributedLocked(name = "shop", fallbackMethod = "notAcquired")
        String withNotAcquired(int number) {
            return "body";
        }

        protected static String notAcquired(int number, LockNotAcquiredException failure) {
            return "not acquired " + number;
        }

        @DistributedLocked(name = "shop", fallbackMethod = "storeDown")
        String withStore(int number) {
            return "body";
        }

        String storeDown(int number, LockStoreException failure) {
            return "store " + number;
        }

        @DistributedLocked(name = "shop", fallbackMethod = "lockFailed")
        String withLockException(int number) {
            return "body";
        }

        String lockFailed(int number, LockException failure) {
            return "lock exception " + number;
        }

        @DistributedLocked(name = "shop", fallbackMethod = "anything")
        String withThrowable(int number) {
            return "body";
        }

        String anything(int number, Throwable failure) {
            return "throwable " + number;
        }

        @DistributedLocked(name = "shop", fallbackMethod = "mostSpecific")
        String mostSpecific(int number) {
            return "body";
        }

        String mostSpecific(int number, LockException failure) {
            return "less specific " + number;
        }

        String mostSpecific(int number, LockNotAcquiredException failure) {
            return "most specific " + number;
        }

        String mostSpecific(int number, LockStoreException failure) {
            return "store failure " + number;
        }

        @DistributedLocked(name = "shop", fallbackMethod = "above")
        String inherited(int number) {
            return "body";
        }

        @DistributedLocked(name = "shop", fallbackMethod = "fromInterface")
        String ofTheInterface(int number) {
            return "body";
        }

        @DistributedLocked(name = "shop", fallbackMethod = "neverCalled")
        String throwing(RuntimeException failure) {
            throw failure;
        }

        String neverCalled(RuntimeException failure, LockException reason) {
            return "fallback";
        }

        @DistributedLocked(name = "shop", fallbackMethod = "fails")
        void failing() throws IOException {}

        private void fails() throws IOException {
            throw new IOException("the fallback failed");
        }
    }

    @SuppressWarnings("unused")
    static class Wrong {
        @DistributedLocked(fallbackMethod = "itself")
        String itself(String text) {
            return text;
        }

        @DistributedLocked(fallbackMethod = "nowhere")
        String missing(String text) {
            return text;
        }

        @DistributedLocked(fallbackMethod = "other")
        String otherParameters(String text) {
            return text;
        }

        String other(int number) {
            return "";
        }

        @DistributedLocked(fallbackMethod = "number")
        String otherReturn(String text) {
            return text;
        }

        int number(String text) {
            return 0;
        }

        @DistributedLocked(fallbackMethod = "illegal")
        String otherException(String text) {
            return text;
        }

        String illegal(String text, IllegalStateException failure) {
            return text;
        }

        @DistributedLocked(fallbackMethod = "nothing")
        String nothingReturned(String text) {
            return text;
        }

        void nothing(String text) {}
    }

    abstract static class Work<T> {
        @DistributedLocked(fallbackMethod = "instead")
        public T work(T input) {
            return input;
        }
    }

    static class TextWork extends Work<String> {
        @DistributedLocked
        void other() {}

        String instead(String input) {
            return input;
        }
    }
}
