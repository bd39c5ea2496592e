/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

class OptionalLibrariesTest {

    @Test
    void nothingNeedsReactorOrKotlinButMethodsThatUseThem() throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (URLClassLoader without = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
            assertThatExceptionOfType(ClassNotFoundException.class)
                    .isThrownBy(() -> without.loadClass("reactor.core.publisher.Mono"));
            assertThatExceptionOfType(ClassNotFoundException.class).isThrownBy(() -> without.loadClass("kotlin.Unit"));
            thread.setContextClassLoader(without);
            Object application = without.loadClass(WithoutOptionalLibraries.class.getName())
                    .getConstructor()
                    .newInstance();
            assertThat(((Callable<?>) application).call())
                    .isEqualTo(
                            "shop,shop,Return a type that Spring's ReactiveAdapterRegistry knows, with reactor-core on"
                                    + " the class path");
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static URL[] classPath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !new File(entry).getName().matches("(reactor|reactive-streams|kotlin).*"))
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
