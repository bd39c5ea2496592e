/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.RedisRequest;
import java.util.function.IntPredicate;
import java.util.function.Predicate;

/** The calls of each script, which are told by the length of what they carry: hashes differ from store to store. */
final class ScriptRequests {

    static final Predicate<RedisRequest> ACQUIRE = carrying(length -> length == 74);
    static final Predicate<RedisRequest> RELEASE = carrying(length -> length == 36 || length == 13);
    static final Predicate<RedisRequest> HAND_OVER = carrying(length -> length == 111);
    static final Predicate<RedisRequest> RENEW = carrying(length -> length > 0 && length % 30 == 0);

    private ScriptRequests() {}

    private static Predicate<RedisRequest> carrying(IntPredicate length) {
        return RedisRequest.command("EVALSHA", "EVAL")
                .and(request -> length.test(
                        request.arguments().get(request.arguments().size() - 1).length()));
    }
}
