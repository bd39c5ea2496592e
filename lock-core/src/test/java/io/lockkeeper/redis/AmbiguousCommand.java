/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.LockRequest;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import java.time.Duration;
import java.util.function.Predicate;

/** The commands of which a caller may not know what came of them. */
enum AmbiguousCommand {
    ACQUIRE,
    RELEASE,
    HAND_OVER,
    RENEW,
    /** The acquire that a granted waiter for several locks sends before it believes. */
    CLAIM;

    /** What happens to the command, or to what is known of it. */
    enum Ambiguity {
        REPLY_IS_CUT,
        REPLY_COMES_TOO_LATE,
        RUNS_TWICE,
        COPY_RUNS_LATER,
        RUNS_TOO_LATE,
        RUNS_MUCH_TOO_LATE
    }

    private Predicate<RedisRequest> script() {
        return switch (this) {
            case ACQUIRE, CLAIM -> ScriptRequests.ACQUIRE;
            case RELEASE -> ScriptRequests.RELEASE;
            case HAND_OVER -> ScriptRequests.HAND_OVER;
            case RENEW -> ScriptRequests.RENEW;
        };
    }

    /** Lets something happen to the next command about a lock; late is later than the command timeout. */
    Fault befall(Ambiguity ambiguity, FaultProxy network, String lockName, Duration late) {
        Predicate<RedisRequest> command = script().and(RedisRequest.containing(lockName));
        FaultProxy.Rule next = network.when(command).once();
        return switch (ambiguity) {
            case REPLY_IS_CUT -> next.cutReply();
            case REPLY_COMES_TOO_LATE -> next.delayReply(late);
            case RUNS_TWICE -> next.duplicate();
            case COPY_RUNS_LATER -> next.duplicateAfter(late);
            case RUNS_TOO_LATE, RUNS_MUCH_TOO_LATE -> next.delayRequest(late);
        };
    }

    /** What the caller asks for. */
    LockRequest request(String name) {
        return this == CLAIM ? LockRequest.of("a " + name, name) : LockRequest.of(name);
    }
}
