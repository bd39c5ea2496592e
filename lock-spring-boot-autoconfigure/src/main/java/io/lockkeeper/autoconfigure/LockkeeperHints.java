/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockManager;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;

/** Keeps in a native image the scripts, and the engine that the template finds by its service file. */
final class LockkeeperHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
        hints.resources()
                .registerPattern("io/lockkeeper/redis/*.lua")
                .registerPattern("META-INF/services/" + LockManager.Factory.class.getName());
        hints.reflection()
                .registerType(
                        TypeReference.of("io.lockkeeper.engine.LeaseManagerFactory"),
                        MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS);
    }
}
