/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.time.DateTimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.MethodClassKey;
import org.springframework.expression.spel.SpelCompilerMode;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.expression.spel.support.StandardTypeLocator;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.util.function.SingletonSupplier;

/** Resolves what annotations mean, once for each method of each bean class. */
final class MethodLockSpecs {

    private static final String TEMPLATE = "lockTemplate";
    private static final String DEFAULT_WAIT = "${lockkeeper.wait-time:}";

    private final Map<MethodClassKey, MethodLockSpec> specs = new ConcurrentHashMap<>();

    /** The classes of annotated methods by their short labels; no class where there are several. */
    private final Map<String, Class<?>> labels = new ConcurrentHashMap<>();

    /** The signatures of annotated methods by their long labels; empty where there are several. */
    private final Map<String, String> signatures = new ConcurrentHashMap<>();

    private final AttributeReader attributes;

    /** Made for the first annotated method. */
    private final SingletonSupplier<NameParser> names;

    private final ConfigurableListableBeanFactory beans;
    private volatile @Nullable List<String> operations;

    MethodLockSpecs(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
        this.attributes = new AttributeReader(beans::resolveEmbeddedValue);
        this.names = SingletonSupplier.of(this::nameParser);
    }

    private NameParser nameParser() {
        StandardEvaluationContext shared = new StandardEvaluationContext() {
            @Override
            public boolean isAssignmentEnabled() {
                return false;
            }
        };
        shared.setBeanResolver(new BeanFactoryResolver(beans));
        shared.setTypeLocator(new StandardTypeLocator(beans.getBeanClassLoader()));
        // Expressions compile themselves, after some calls.
        SpelParserConfiguration parsing = new SpelParserConfiguration(SpelCompilerMode.OFF, beans.getBeanClassLoader());
        return new NameParser(new SpelExpressionParser(parsing), shared, attributes, beans::containsBean);
    }

    /** Returns what the annotation of a called method means. A woven one runs also where a subclass overrides it. */
    MethodLockSpec of(Method invoked, Class<?> targetClass, boolean woven) {
        MethodClassKey key = new MethodClassKey(invoked, targetClass);
        MethodLockSpec known = specs.get(key);
        if (known != null) {
            return known;
        }
        AnnotatedMethod method = AnnotatedMethod.find(invoked, targetClass);
        if (woven && method != null && !method.method().equals(invoked)) {
            method = AnnotatedMethod.find(invoked, invoked.getDeclaringClass());
        }
        Faults faults = new Faults(Objects.requireNonNull(method, "Advised only where it is annotated"));
        if (woven) {
            MethodCheck.WeavingCheck.check(method, faults);
        }
        MethodLockSpec spec = check(method, faults);
        if (spec == null) {
            throw new DistributedLockedConfigurationException(faults.found());
        }
        specs.put(key, spec);
        return spec;
    }

    /** Resolves what the annotation of a method means, and keeps it; null after a fault. */
    @Nullable
    MethodLockSpec check(AnnotatedMethod method, Faults faults) {
        MethodLockSpec spec = resolve(method, faults);
        MethodLockSpec known = spec == null ? null : specs.putIfAbsent(method.key(), spec);
        return known == null ? spec : known;
    }

    /** Returns whether calls that find the lock held give up at once, as the annotation or its default says. */
    boolean isTriedOnce(AnnotatedMethod method, MethodLockSpec spec) {
        Duration waitTime = spec.settings().waitTime();
        if (waitTime == null) {
            LockTemplate template = made(spec);
            waitTime = template != null && template.store().isPresent()
                    ? template.waitTime()
                    : attributes.duration("waitTime", DEFAULT_WAIT, Duration.ZERO, new Faults(method));
        }
        return Duration.ZERO.equals(waitTime) && spec.settings().retryCount() == 0;
    }

    /** Returns why the store of a method can never give its lock; null: it can, or is not known yet. */
    @Nullable
    String impossible(MethodLockSpec spec) {
        LockTemplate template = made(spec);
        try {
            if (template != null) {
                template.check(spec.settings());
            }
            return null;
        } catch (IllegalArgumentException | UnsupportedOperationException refusal) {
            return refusal.getMessage();
        }
    }

    /** Returns the template that locks, if it has been made; null: it is made at the first call, or is no template. */
    private @Nullable LockTemplate made(MethodLockSpec spec) {
        boolean made = !templates().isEmpty() && templates().stream().allMatch(beans::containsSingleton);
        return made && spec.operations().get() instanceof LockTemplate template ? template : null;
    }

    @Nullable
    MethodLockSpec checked(AnnotatedMethod method) {
        return specs.get(method.key());
    }

    /** Tells of a method, so that others which look the same to a reader have longer labels. */
    void announce(AnnotatedMethod method) {
        labels.merge(method.label(), method.declaringClass(), (one, other) -> one == other ? one : void.class);
        signatures.merge(method.defaultName(), method.signature(), (one, other) -> one.equals(other) ? one : "");
    }

    private String label(AnnotatedMethod method) {
        announce(method);
        String name = labels.get(method.label()) == method.declaringClass() ? method.label() : method.defaultName();
        String signature = method.signature();
        return signature.equals(signatures.get(method.defaultName()))
                ? name
                : name + signature.substring(signature.indexOf('('));
    }

    private @Nullable MethodLockSpec resolve(AnnotatedMethod method, Faults faults) {
        DistributedLocked annotation = method.annotation();
        ResultKind result = new ResultKind(method);
        LockNames lockNames = names.obtain().parse(method, faults);
        boolean skips = annotation.skipWhenLocked();
        String fallbackName = attributes.name(Fallback.ATTRIBUTE, annotation.fallbackMethod(), faults);
        if (skips && !fallbackName.isEmpty()) {
            faults.add("skipWhenLocked", "does not go together with fallbackMethod", "Leave one of them out");
        }
        if (method.isAmbiguous()) {
            faults.add("has several annotations that lock, of which only one would", "Write one, with all the names");
        }
        LockRequest settings = settings(method, lockNames, faults);
        Fallback fallback = Fallback.find(method, fallbackName, faults);
        Object skippedResult = skips ? result.skippedResult(faults) : null;
        Supplier<LockOperations> lockOperations =
                operations(attributes.name(TEMPLATE, annotation.lockTemplate(), faults), faults);
        MethodLockSpec.Execution execution = result.execution(faults, beans);
        return lockNames == null || !faults.isEmpty()
                ? null
                : new MethodLockSpec(
                        lockNames.isConstant() ? null : lockNames,
                        settings,
                        skips,
                        skippedResult,
                        fallback,
                        annotation.onLost(),
                        MethodTransactions.suspendsOthers(method),
                        lockOperations,
                        execution);
    }

    private LockRequest settings(AnnotatedMethod method, @Nullable LockNames lockNames, Faults faults) {
        DistributedLocked annotation = method.annotation();
        Duration waitTime = attributes.duration("waitTime", annotation.waitTime(), Duration.ZERO, faults);
        Duration minHoldTime = attributes.duration("minHoldTime", annotation.minHoldTime(), Duration.ZERO, faults);
        if (annotation.retryCount() < 0) {
            faults.add(
                    "retryCount",
                    annotation.retryCount() + " is negative",
                    "Write the number of further attempts after the first, or leave it out");
        }
        List<String> constant = List.of("?");
        if (lockNames != null && lockNames.isConstant()) {
            try {
                constant = LockRequest.of(lockNames.of(null, new Object[0])).names();
            } catch (IllegalArgumentException unfit) {
                faults.add("name", String.valueOf(unfit.getMessage()), "Choose another name");
            }
        }
        return new LockRequest(
                constant,
                annotation.mode(),
                waitTime == null && annotation.skipWhenLocked() ? Duration.ZERO : waitTime,
                attributes.duration("leaseTime", annotation.leaseTime(), LockRequest.MIN_LEASE_TIME, faults),
                Math.max(0, annotation.retryCount()),
                attributes.duration("retryDelay", annotation.retryDelay(), LockRequest.MIN_RETRY_DELAY, faults),
                minHoldTime == null ? Duration.ZERO : minHoldTime,
                label(method));
    }

    boolean hasBean(String name) {
        return beans.containsBean(name);
    }

    boolean hasBean(Class<?> type) {
        return new ProxyCheck(beans).exists(type);
    }

    /** Finds the bean that locks, and creates none before the first call of an annotated method. */
    private Supplier<LockOperations> operations(String name, Faults faults) {
        if (name.isEmpty()) {
            refuseAmbiguity(faults);
            return SingletonSupplier.of(() -> beans.getBean(LockOperations.class));
        }
        if (!beans.containsBean(name)) {
            faults.add(TEMPLATE, "there is no bean '" + name + "'", "Write the name of a bean: " + templates());
        } else if (!beans.isTypeMatch(name, LockOperations.class)) {
            String problem = "the bean '" + name + "' is no LockOperations";
            faults.add(TEMPLATE, problem, "Write the name of one: " + templates());
        }
        return SingletonSupplier.of(() -> beans.getBean(name, LockOperations.class));
    }

    private void refuseAmbiguity(Faults faults) {
        List<RootBeanDefinition> candidates = templates().stream()
                .map(new ProxyCheck(beans)::definition)
                .filter(bean -> bean.isAutowireCandidate() && bean.isDefaultCandidate())
                .toList();
        long primary = candidates.stream().filter(RootBeanDefinition::isPrimary).count();
        long fallback =
                candidates.stream().filter(RootBeanDefinition::isFallback).count();
        if (candidates.size() > 1 && primary != 1 && candidates.size() - fallback != 1) {
            faults.add(
                    TEMPLATE,
                    "is not set, and there are several beans to lock with",
                    "Write the name of one, or make one of them @Primary: " + templates());
        }
    }

    private List<String> templates() {
        List<String> names = operations;
        if (names == null) {
            names = List.of(beans.getBeanNamesForType(LockOperations.class, true, false));
            if (beans.isConfigurationFrozen()) {
                // Spring looks at every bean for this answer, and does not remember it.
                operations = names;
            }
        }
        return names;
    }

    /** Reads the text attributes of the annotation: resolves their placeholders, and parses durations. */
    record AttributeReader(Function<String, @Nullable String> resolver) {

        private static final Pattern NUMBER = Pattern.compile("[+-]?\\d+");

        /** Returns a text with its placeholders resolved; null after a fault. */
        @Nullable
        String text(String attribute, String written, Faults faults) {
            if (!written.contains("${")) {
                return written;
            }
            String reason = "'" + written + "' has a placeholder without a value";
            try {
                String resolved = resolver.apply(written);
                if (resolved == null) {
                    return "";
                }
                // An escaped placeholder is meant as text.
                if (!resolved.contains("${") || written.contains("\\${")) {
                    return resolved;
                }
            } catch (IllegalArgumentException unresolved) {
                reason = "'" + written + "' cannot be resolved (" + unresolved.getMessage() + ")";
            }
            faults.add(
                    attribute,
                    reason,
                    written.contains("${#")
                            ? "Write " + written.replace("${#", "#{#")
                            : "Set the property, or give a default as in ${some.property:default}");
            return null;
        }

        /** Returns the name of a method or bean; empty where none is written, or after a fault. */
        String name(String attribute, String written, Faults faults) {
            String resolved = text(attribute, written, faults);
            return resolved == null ? "" : resolved.strip();
        }

        /** Returns a duration; null where none is written, or after a fault. */
        @Nullable
        Duration duration(String attribute, String written, Duration least, Faults faults) {
            String resolved = name(attribute, written, faults);
            if (resolved.isEmpty()) {
                return null;
            }
            String shown =
                    resolved.equals(written) ? "'" + written + "'" : "'" + written + "', which is '" + resolved + "',";
            if (NUMBER.matcher(resolved).matches() && !resolved.equals("0") && !resolved.startsWith("-")) {
                faults.add(
                        attribute,
                        shown + " has no unit",
                        "Write " + resolved + "ms for milliseconds or " + resolved + "s for seconds");
                return null;
            }
            try {
                // Of a bare number, only the sign matters here: the -1 of other libraries is too short in every unit.
                Duration duration = DurationFormatterUtils.detectAndParse(resolved);
                if (duration.compareTo(least) >= 0) {
                    return duration;
                }
                faults.add(
                        attribute,
                        shown + " is too short",
                        least.isZero()
                                ? "Write zero or more, or leave it out"
                                : "Write " + least.toMillis() + "ms or more, or leave it out: "
                                        + (attribute.equals("leaseTime")
                                                ? "the lease is then renewed until the method ends"
                                                : "lockkeeper.retry-delay is then waited"));
            } catch (IllegalArgumentException | ArithmeticException | DateTimeException unreadable) {
                faults.add(
                        attribute, shown + " is not a duration", "Write a number with a unit, as in 2s, 500ms or PT2S");
            }
            return null;
        }
    }
}
