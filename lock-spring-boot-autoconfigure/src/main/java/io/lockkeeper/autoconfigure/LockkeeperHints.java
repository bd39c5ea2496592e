/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** Keeps the scripts and the page in a native image. */
final class LockkeeperHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
        hints.resources().registerPattern("io/lockkeeper/redis/*.lua");
        hints.resources().registerPattern("io/lockkeeper/autoconfigure/actuate/locks.html");
    }
}
