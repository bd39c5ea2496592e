/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.core.DecoratingProxy;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.SimpleTransactionStatus;

class OptionalLibrariesTest {

    @Test
    void nothingNeedsReactorOrKotlinButMethodsThatUseThem() throws Exception {
        try (URLClassLoader without = loader("(reactor|reactive-streams|kotlin).*")) {
            assertThatExceptionOfType(ClassNotFoundException.class)
                    .isThrownBy(() -> without.loadClass("reactor.core.publisher.Mono"));
            assertThatExceptionOfType(ClassNotFoundException.class).isThrownBy(() -> without.loadClass("kotlin.Unit"));
            assertThat(call(WithoutOptionalLibraries.class, without))
                    .isEqualTo(
                            "shop,shop,Return a type that Spring's ReactiveAdapterRegistry knows, with reactor-core on"
                                    + " the class path");
        }
    }

    @Test
    void aNativeImageHasTheProxyOfATransactionManagerThatIsDeclaredByItsInterface() throws Exception {
        RuntimeHints hints = new RuntimeHints();
        new DistributedLockedHints().registerHints(hints, null);
        assertThat(RuntimeHintsPredicates.proxies()
                        .forInterfaces(AopProxyUtils.completeJdkProxyInterfaces(PlatformTransactionManager.class)))
                .accepts(hints);
        String image = "org.graalvm.nativeimage.imagecode";
        System.setProperty(image, "runtime");
        try (URLClassLoader fresh = loader("none")) {
            assertThat(call(NativeManager.class, fresh))
                    .isEqualTo(Arrays.toString(
                            AopProxyUtils.completeJdkProxyInterfaces(PlatformTransactionManager.class)));
        } finally {
            System.clearProperty(image);
        }
    }

    @Test
    void aNativeImageHasWhatIsHealthInSpringBoot3() {
        RuntimeHints hints = new RuntimeHints();
        new DistributedLockedHints().registerHints(hints, null);
        String health = "org.springframework.boot.actuate.health.Health";
        assertThat(hints.proxies().jdkProxyHints()).anySatisfy(proxy -> assertThat(proxy.getProxiedInterfaces())
                .extracting(TypeReference::getName)
                .containsExactly(
                        health + "Indicator",
                        SpringProxy.class.getName(),
                        Advised.class.getName(),
                        DecoratingProxy.class.getName()));
        for (String type :
                List.of(health, health + "$Builder", "io.lockkeeper.autoconfigure.actuate.LockHealth$Report")) {
            assertThat(RuntimeHintsPredicates.reflection()
                            .onType(TypeReference.of(type))
                            .withMemberCategory(MemberCategory.INVOKE_PUBLIC_METHODS))
                    .as(type)
                    .accepts(hints);
        }
    }

    /** Runs where a class loader of its own believes to be in a native image. */
    public static class NativeManager implements Callable<String> {
        @Override
        public String call() {
            DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
            PlatformTransactionManager manager = new Manager();
            assertThat(CommitGuard.guarded(manager, Manager.class, beans)).isSameAs(manager);
            Object guarded = CommitGuard.guarded(manager, PlatformTransactionManager.class, beans);
            return Arrays.toString(guarded.getClass().getInterfaces());
        }
    }

    /** It could be extended. */
    static class Manager implements PlatformTransactionManager, Runnable {
        @Override
        public TransactionStatus getTransaction(@Nullable TransactionDefinition definition) {
            return new SimpleTransactionStatus();
        }

        @Override
        public void commit(TransactionStatus status) {}

        @Override
        public void rollback(TransactionStatus status) {}

        @Override
        public void run() {}
    }

    private static Object call(Class<?> type, ClassLoader loader) throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            Object called = loader.loadClass(type.getName()).getConstructor().newInstance();
            return ((Callable<?>) called).call();
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static URLClassLoader loader(String without) {
        return new URLClassLoader(classPath(without), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] classPath(String without) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !new File(entry).getName().matches(without))
                .map(OptionalLibrariesTest::url)
                .toArray(URL[]::new);
    }

    private static URL url(String entry) {
        try {
            return new File(entry).toURI().toURL();
        } catch (MalformedURLException impossible) {
            throw new IllegalArgumentException(entry, impossible);
        }
    }
}
