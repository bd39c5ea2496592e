/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.ResolvableType;

/**
 * The variables under which the expressions of a method find its arguments, {@code p0} and {@code a0} included.
 *
 * @param missing whether the class was compiled without the names of its parameters
 */
record ParameterNames(Map<String, Integer> indexes, List<ResolvableType> types, boolean missing) {

    private static final ParameterNameDiscoverer DISCOVERER = new DefaultParameterNameDiscoverer();

    /** Finds the names: those of the annotated declaration, and those of the method that implements it. */
    static ParameterNames of(AnnotatedMethod method) {
        int count = SuspendingMethods.parameterCount(method.method());
        Map<String, Integer> indexes = new LinkedHashMap<>();
        boolean known = add(method.declaration(), indexes);
        if (!method.declaration().equals(method.method())) {
            known |= add(method.method(), indexes);
        }
        for (int i = 0; i < count; i++) {
            indexes.putIfAbsent("p" + i, i);
            indexes.putIfAbsent("a" + i, i);
        }
        List<ResolvableType> types = IntStream.range(0, count)
                .mapToObj(index -> ResolvableType.forMethodParameter(method.method(), index, method.targetClass()))
                .toList();
        return new ParameterNames(indexes, types, count > 0 && !known);
    }

    private static boolean add(Method method, Map<String, Integer> indexes) {
        @Nullable String @Nullable [] names = DISCOVERER.getParameterNames(method);
        if (names == null) {
            return false;
        }
        int count = Math.min(names.length, SuspendingMethods.parameterCount(method));
        for (int i = 0; i < count; i++) {
            String name = names[i];
            if (name != null) {
                indexes.putIfAbsent(name, i);
            }
        }
        return true;
    }

    boolean isVariable(String name) {
        return name.equals("root") || name.equals("this") || indexes.containsKey(name);
    }

    /** Returns the type of a parameter; none where it is no parameter. */
    ResolvableType typeOf(String name) {
        Integer index = indexes.get(name);
        return index == null ? ResolvableType.NONE : types.get(index);
    }

    /** Returns whether a text outside an expression must have been meant as a variable. */
    boolean isMeantAsVariable(String name) {
        return name.equals("root") || indexes.containsKey(name) || (!types.isEmpty() && name.matches("[pa]\\d+"));
    }

    String listed() {
        return indexes.keySet().stream()
                .map(name -> "#" + name)
                .collect(Collectors.joining(", ", "", ", #root"))
                .replaceFirst("^, ", "");
    }
}
