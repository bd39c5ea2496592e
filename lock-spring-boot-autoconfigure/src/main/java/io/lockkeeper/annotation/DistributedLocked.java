/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.annotation;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method of a bean under a distributed lock: acquired before the method, released when it has ended, whatever
 * happens. A thread that holds the lock already enters it again.
 *
 * <p>Works through the bean's proxy, and therefore not where a bean calls its own method. The method may be declared in
 * an interface, and the annotation may sit on another annotation whose attributes are aliases of these. It must not be
 * private, static or final. With {@code lockkeeper.mode=aspectj} the lock is woven into the method itself, which may
 * then be private or final, but neither suspend nor be annotated only in an interface. Every annotated method is
 * checked when the application starts; what is wrong with it stops the start.
 *
 * <p>A method may also return {@link java.util.concurrent.CompletableFuture}, {@link
 * java.util.concurrent.CompletionStage}, a {@code Mono}, a {@code Flux} or another type that Spring's reactive adapters
 * know, or be a suspend function of Kotlin. Then no thread waits for the lock, and it is held until the result is
 * complete, failed or cancelled:
 *
 * <ul>
 *   <li>All failures arrive through the result, which ends after the release, on a thread of the template; after a
 *       cancellation no caller waits for the release.
 *   <li>The thread that runs the method is inside the lock until the method returns. What continues the stage, or the
 *       operators of the publisher, are not: {@link io.lockkeeper.LockContext} is empty there, and blocking code that
 *       asks for the same lock waits. A method that begins a reactive transaction runs in its publisher.
 *   <li>A publisher locks at each subscription, and not before. The leases are in the Reactor context, so
 *       that annotated publishers and suspend functions inside enter the lock again; the innermost is there under
 *       {@code LockLease.class}.
 *   <li>Every thread that runs the coroutine of a suspend function is inside the lock while it does.
 * </ul>
 *
 * <p>Every text attribute may contain <code>${placeholders}</code>. Durations are written {@code "2s"},
 * {@code "500ms"}, {@code "1m30s"} or {@code "PT2S"}, always with a unit.
 *
 * <pre>{@code
 * @DistributedLocked(name = "order:#{#order.id}", waitTime = "2s")
 * public Receipt pay(Order order) { ... }
 * }</pre>
 *
 * @see io.lockkeeper.LockOperations
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface DistributedLocked {

    /** The names of the locks; see {@link #name()}. */
    @AliasFor("name")
    String[] value() default {};

    /**
     * The names of the locks, of which all or none are acquired; unless set, the declaring class and the method, as in
     * {@code com.acme.Orders.pay}.
     *
     * <p>A name is text with SpEL expressions in <code>#{...}</code>. An expression may use the parameters by name or
     * as {@code #p0} or {@code #a0}, {@code #root.method}, {@code #root.args}, {@code #root.target},
     * {@code #root.targetClass} and {@code @beans}. One that yields a collection or an array gives a name for each
     * element. A value that is null, blank or empty is an error, and so is one whose text differs between machines: an
     * object without a text of its own, a set or map in no order. Values are data and are never evaluated.
     */
    @AliasFor("value")
    String[] name() default {};

    /** How the locks are shared. */
    LockMode mode() default LockMode.EXCLUSIVE;

    /**
     * How long to wait for the lock; zero: try once. Unless set, {@code lockkeeper.wait-time} holds, or zero together
     * with {@link #skipWhenLocked()}. Ignored together with {@link #retryCount()}.
     */
    String waitTime() default "";

    /**
     * The fixed end of the hold, at least 100 ms after the grant, even while the method still runs. Unless set, the
     * hold is renewed until the method has ended.
     */
    String leaseTime() default "";

    /** The number of further attempts after the first, none of which waits; 0: wait for {@link #waitTime()} instead. */
    int retryCount() default 0;

    /**
     * The time between two attempts, at least 1 ms, varied at random by up to a half; unless set,
     * {@code lockkeeper.retry-delay} holds.
     */
    String retryDelay() default "";

    /**
     * The name of a method that runs instead when the lock cannot be acquired; unless set, the exception reaches the
     * caller.
     *
     * <p>It belongs to the same bean, with any visibility, and has the same parameters, or the same and an exception
     * after them. Without an exception, or with {@link LockNotAcquiredException} or a supertype of it, it runs when
     * others hold the lock; with {@link LockStoreException} or {@link io.lockkeeper.LockException}, when the store
     * failed. Of several the most specific one runs. Its own exceptions reach the caller. What the annotated method
     * throws never leads to it. It runs without the lock, but under annotations of its own where the bean's proxy can
     * call it. It returns the same kind of result; that of a suspend function may
     * be one, too.
     */
    String fallbackMethod() default "";

    /**
     * Whether the method is skipped when others hold the lock, as suits scheduled work: the call returns null, an empty
     * {@link java.util.Optional}, a future that is completed with null, or an empty publisher. A store that fails is
     * never skipped.
     */
    boolean skipWhenLocked() default false;

    /**
     * How long the lock stays taken at least, counted from the grant, even when the method ends earlier; for scheduled
     * work on machines with different clocks. Unless set, it is released at once. See
     * {@link LockRequest#withMinHoldTime}.
     */
    String minHoldTime() default "";

    /** What happens when the lock is lost while the method runs. */
    LossPolicy onLost() default LossPolicy.REPORT;

    /** The bean name of the {@link io.lockkeeper.LockOperations} to use; needed only where there are several. */
    String lockTemplate() default "";
}
