/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Methods whose parameters have other types in the interface: none is an alarm, and all are locked however called. */
class GenericInterfaceTest {

    @SuppressWarnings("unchecked") // The bean factory knows classes, and not their parameters.
    @ParameterizedTest
    @ValueSource(
            strings = {
                "spring.aop.proxy-target-class=true",
                "spring.aop.proxy-target-class=false",
                "spring.aop.proxy-target-class=false,spring.main.lazy-initialization=true"
            })
    void whatAClassMakesOfAGenericInterfaceIsLocked(String properties) {
        runner().withPropertyValues(properties.split(","))
                .withBean("handler", TextHandler.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    Handler<String> handler = context.getBean("handler", Handler.class);
                    assertThat(handler.handle("x")).containsExactly("handled:x");
                });
    }

    @SuppressWarnings("unchecked") // The bean factory knows classes, and not their parameters.
    @ParameterizedTest
    @ValueSource(strings = {"true", "false"})
    void aSuperclassThatKnowsNothingOfTheGenericInterfaceIsLocked(String byClass) {
        runner().withPropertyValues("spring.aop.proxy-target-class=" + byClass)
                .withBean("adapted", Adapted.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    LockedHandler<String> handler = context.getBean("adapted", LockedHandler.class);
                    assertThat(handler.handle("x")).containsExactly("locked:x");
                    if (handler instanceof Base direct) {
                        assertThat(direct.handle("x")).containsExactly("locked:x");
                    }
                });
    }

    public interface Handler<T> {
        List<String> handle(T input);
    }

    static class TextHandler implements Handler<String> {
        @Override
        @DistributedLocked("handled:#{#input}")
        public List<String> handle(String input) {
            return LockContext.require().names();
        }
    }

    public interface LockedHandler<T> {
        @DistributedLocked("locked:#{#input}")
        List<String> handle(T input);
    }

    static class Base {
        public List<String> handle(String text) {
            return LockContext.require().names();
        }
    }

    static class Adapted extends Base implements LockedHandler<String> {}
}
