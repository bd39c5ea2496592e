/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.AcquisitionInterceptor;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperProperties.InsideTransaction;
import io.lockkeeper.interceptor.CommitGuard;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Reacts to locks that are taken inside an open transaction: a lock that ends before the commit lets the next holder in
 * before it can see what was written.
 */
final class TransactionSurroundings implements AcquisitionInterceptor {

    private static final Pattern LAMBDA = Pattern.compile("^lambda\\$(.+)\\$\\d+$");
    private static final Logger log = LoggerFactory.getLogger(LockTemplate.class);

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int LOOKS_AT_ONCE = 100;

    private final AtomicLong looks = new AtomicLong(System.nanoTime() - LOOKS_AT_ONCE * LOOK_NANOS);
    private final InsideTransaction reaction;
    private final Set<String> warned = ConcurrentHashMap.newKeySet();

    TransactionSurroundings(InsideTransaction reaction) {
        this.reaction = reaction;
    }

    @Override
    public @Nullable Consumer<LockLease> beforeAcquisition(LockRequest request, boolean reentry) {
        CommitGuard.Purpose purpose = CommitGuard.purpose();
        if (reaction == InsideTransaction.ALLOW
                || !TransactionLocks.isTransactionOpen()
                || purpose.hasOwnTransaction()) {
            return null;
        }
        if (reaction == InsideTransaction.RELEASE_AFTER_COMPLETION) {
            TransactionLocks locks = TransactionLocks.ofThisThread();
            return purpose.isGuarded() ? locks::acceptGuarded : locks;
        }
        // What the thread holds already goes on after this level of it; a transaction that only reads commits nothing.
        if (reentry || TransactionSynchronizationManager.isCurrentTransactionReadOnly()) {
            return null;
        }
        if (reaction == InsideTransaction.FAIL) {
            throw new IllegalStateException(
                    caller(request) + " asks for lock " + request.names() + " inside an open transaction,"
                            + " which lockkeeper.inside-transaction=fail forbids: begin the transaction inside the lock");
        }
        warn(request);
        return null;
    }

    @Override
    public Collection<LockLease> heldOn() {
        return reaction == InsideTransaction.RELEASE_AFTER_COMPLETION ? TransactionLocks.heldByThisThread() : List.of();
    }

    private void warn(LockRequest request) {
        if (request.label() == null && !isLookDue()) {
            return;
        }
        String caller = caller(request);
        if (warned.add(caller)) {
            log.warn(
                    "{} asks for lock {} inside an open transaction, and releases it before the commit: the next holder"
                            + " does not see what was written. Begin the transaction inside the lock, or set"
                            + " lockkeeper.inside-transaction to release-after-completion, or to allow if this is meant."
                            + " Said once for each method",
                    caller,
                    request.names());
        }
    }

    /** To find the method that asks takes a walk through the stack: often enough that none stays unnamed for long. */
    private boolean isLookDue() {
        long now = System.nanoTime();
        long before = looks.get();
        long next = Math.max(before, now - LOOKS_AT_ONCE * LOOK_NANOS) + LOOK_NANOS;
        return next <= now && looks.compareAndSet(before, next);
    }

    /** Names the method that asks on this thread: what the request is labelled with, or what calls the template. */
    private static String caller(LockRequest request) {
        String label = request.label();
        return label != null
                ? label
                : StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                        .walk(frames -> frames.filter(frame -> !isOwn(frame.getDeclaringClass()))
                                .findFirst()
                                .map(frame -> frame.getClassName() + "."
                                        + LAMBDA.matcher(frame.getMethodName()).replaceFirst("$1"))
                                .orElse("A method"));
    }

    private static boolean isOwn(Class<?> type) {
        return type == TransactionSurroundings.class
                || type.getPackageName().equals(LockTemplate.class.getPackageName());
    }
}
