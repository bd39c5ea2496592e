/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.io.IOException;
import java.io.InputStream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Woven classes of class loaders that find the aspect, or do not. */
class AspectReachTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory", "lockkeeper.mode=aspectj");

    @Test
    void anAspectThatIsThereIsReached() {
        runner.withBean(Woven.class).run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void anAspectThatIsNotThereFailsTheStart() throws ClassNotFoundException {
        Class<?> woven = new WovenClassLoader(false).loadClass(Woven.class.getName());
        runner.withBean(woven).run(context -> assertThat(context.getStartupFailure())
                .hasStackTraceContaining("Woven.sell(): has a lock woven into it that would not be found when"
                        + " it is called: java.lang.ClassNotFoundException:"
                        + " io.lockkeeper.weaving.DistributedLockedAspect")
                .hasStackTraceContaining("find lock-spring-boot-autoconfigure where the application has it"));
    }

    @Test
    void anAspectOfAnotherApplicationFailsTheStart() throws ClassNotFoundException {
        Class<?> woven = new WovenClassLoader(true).loadClass(Woven.class.getName());
        runner.withBean(woven).run(context -> assertThat(context.getStartupFailure())
                .hasStackTraceContaining(
                        "its class loader has a io.lockkeeper.weaving.DistributedLockedAspect" + " of its own"));
    }

    /** What a weaver leaves in a class file, as far as the start can see it. */
    static class Woven {
        @DistributedLocked("stock")
        void sell() {
            DistributedLockedAspect.aspectOf();
            sell_aroundBody0(this);
        }

        @SuppressWarnings({"MethodName", "UnusedVariable"})
        private static void sell_aroundBody0(Woven self) {}
    }

    /** Has classes of this package of its own. */
    private static final class WovenClassLoader extends ClassLoader {

        private final boolean hasAspect;

        WovenClassLoader(boolean hasAspect) {
            super(WovenClassLoader.class.getClassLoader());
            this.hasAspect = hasAspect;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("io.lockkeeper.weaving.")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            if (!hasAspect && name.endsWith("Aspect")) {
                throw new ClassNotFoundException(name);
            }
            return define(name);
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }
}
