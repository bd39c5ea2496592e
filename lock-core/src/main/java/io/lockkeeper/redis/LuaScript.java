/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.core.script.DigestUtils;

/**
 * A script of the store.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 *
 * @param name the file's name
 * @param source the text that Redis runs
 * @param sha1 the hash under which Redis knows it
 */
public record LuaScript(String name, String source, String sha1) {

    static final LuaScript SCAN = of("scan", read("scan"));
    static final LuaScript RIGHTS = of("rights", read("rights"));
    /** Is sent as its text: it is short. */
    public static final LuaScript REPLICAS = of("replicas", read("replicas"));

    private static final Set<String> OVER_LOCKS =
            Set.of("acquire", "release", "handover", "renew", "inspect", "revoke");

    /** Returns whether this is one of {@link LockScripts}, whose replies are texts; others give lists. */
    public boolean isOverLocks() {
        return OVER_LOCKS.contains(name);
    }

    /** Returns the reply of this script as a list: a text as its only element. */
    @SuppressWarnings("unchecked") // What a script answers.
    public List<Object> toList(@Nullable Object reply) {
        if (reply instanceof byte[] text) {
            return List.of(text);
        } else if (reply instanceof List<?> values) {
            return (List<Object>) values;
        }
        throw new StoreException("script " + name + " gave neither a text nor a list: " + reply, null);
    }

    /**
     * Returns a script over locks, which begins with its fast paths and goes on with what it shares with the others.
     *
     * @param constants what stands in the text in place of what
     */
    static LuaScript load(String name, Map<String, String> constants, String... fastPaths) {
        String source = Stream.of(Stream.of("clock"), Stream.of(fastPaths), Stream.of("record", name))
                .flatMap(part -> part)
                .map(LuaScript::read)
                .collect(Collectors.joining("\n"));
        for (Map.Entry<String, String> constant : constants.entrySet()) {
            source = source.replace(constant.getKey(), constant.getValue());
        }
        return of(name, source);
    }

    private static LuaScript of(String name, String source) {
        return new LuaScript(name, source, DigestUtils.sha1DigestAsHex(source));
    }

    private static String read(String name) {
        try {
            return new ClassPathResource(name + ".lua", LuaScript.class).getContentAsString(StandardCharsets.UTF_8);
        } catch (IOException missing) {
            throw new UncheckedIOException("A script of the locks is missing from the class path", missing);
        }
    }
}
