/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import java.lang.StackWalker.StackFrame;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Names the methods that ask for locks. */
final class Callers {

    private static final Pattern LAMBDA = Pattern.compile("lambda\\$(.+)\\$\\d+");

    private Callers() {}

    /** Names the method that asks on this thread: what the request is labelled with, or what calls the template. */
    static String describe(LockRequest request) {
        String label = request.label();
        return label == null ? caller() : label;
    }

    private static String caller() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                .walk(frames -> frames.filter(frame -> !isOwn(frame.getDeclaringClass()))
                        .findFirst()
                        .map(Callers::name)
                        .orElse("A method"));
    }

    private static boolean isOwn(Class<?> type) {
        return type.getNestHost() == Callers.class
                || type.getNestHost() == TransactionSurroundings.class
                || type.getPackageName().equals(LockTemplate.class.getPackageName());
    }

    private static String name(StackFrame frame) {
        Matcher lambda = LAMBDA.matcher(frame.getMethodName());
        String method = lambda.matches() ? lambda.group(1) : frame.getMethodName();
        return frame.getClassName() + "." + method;
    }
}
