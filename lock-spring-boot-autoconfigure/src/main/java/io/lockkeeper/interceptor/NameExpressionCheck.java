/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.beans.Introspector;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ResolvableType;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.FunctionReference;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.InlineMap;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.Projection;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.Selection;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.support.ReflectivePropertyAccessor;

/** Finds in a parsed expression what would be null, or fail, at every call. */
record NameExpressionCheck(String text, ParameterNames parameters, Predicate<String> beans, Faults faults) {

    private static final Properties PROPERTIES = new Properties();

    /**
     * Checks an expression with everything in it.
     *
     * @param scopeIsRoot whether arguments in it are read from the root object, as in a whole expression
     * @param activeIsRoot whether a property in it is
     */
    void check(SpelNode node, boolean scopeIsRoot, boolean activeIsRoot) {
        boolean scope = scopeIsRoot;
        boolean active = activeIsRoot;
        if (node instanceof VariableReference variable) {
            checkVariable(variable.toStringAST().substring(1));
        } else if (node instanceof FunctionReference) {
            fault(
                    node.toStringAST() + " calls a function, and there are none",
                    "Call a method of a bean, as in @bean.method(..)");
        } else if (node instanceof BeanReference) {
            String name = node.toStringAST().replaceAll("[@'\"]", "");
            if (!beans.test(name)) {
                fault("uses the bean '" + name + "', which does not exist", "Write the name of a bean");
            }
        } else if (node instanceof PropertyOrFieldReference property) {
            if (active && !LockNames.Root.hasProperty(property.getName())) {
                fault(
                        "uses '" + property.getName()
                                + "' without '#', which is neither a parameter nor a property of #root",
                        "Write #" + property.getName() + " for a parameter; known are: " + parameters.listed());
            }
        } else if (node instanceof MethodReference method) {
            if (active) {
                fault(
                        "calls " + method.getName() + "(..) on nothing",
                        "Call it on a parameter, on a bean as in @bean." + method.getName()
                                + "(..), or on #root.target");
            }
            active = scope;
        } else if (node instanceof Projection || node instanceof Selection) {
            scope = false;
            active = false;
        } else if (node instanceof Indexer) {
            active = scope;
        }
        if (node instanceof CompoundExpression path) {
            checkPath(path);
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            if (!isKey(node, i)) {
                check(node.getChild(i), scope, active && !(node instanceof CompoundExpression && i > 0));
            }
        }
    }

    /** Follows a path from a parameter as long as the types on it can have no subtype, which might know more. */
    private void checkPath(CompoundExpression path) {
        ResolvableType type = path.getChild(0) instanceof VariableReference variable
                ? parameters.typeOf(variable.toStringAST().substring(1))
                : ResolvableType.NONE;
        for (int i = 1; i < path.getChildCount(); i++) {
            Class<?> known = type.resolve();
            if (known == null
                    || !Modifier.isFinal(known.getModifiers())
                    || known.isArray()
                    || known == Optional.class) {
                return;
            }
            if (path.getChild(i) instanceof PropertyOrFieldReference property) {
                ResolvableType value = PROPERTIES.typeOf(property.getName(), known);
                if (value == null) {
                    faultOn(path, property.getName(), known, "property", PROPERTIES.names(known));
                    return;
                }
                type = value;
            } else if (path.getChild(i) instanceof MethodReference method) {
                List<Method> named = Arrays.stream(known.getMethods())
                        .filter(each -> each.getName().equals(method.getName()))
                        .toList();
                if (named.isEmpty()) {
                    faultOn(
                            path,
                            method.getName(),
                            known,
                            "method",
                            Arrays.stream(known.getMethods()).map(Method::getName));
                    return;
                }
                type = named.size() == 1 ? ResolvableType.forMethodReturnType(named.get(0)) : ResolvableType.NONE;
            } else {
                return;
            }
        }
    }

    private void faultOn(CompoundExpression path, String name, Class<?> type, String kind, Stream<String> known) {
        fault(
                "uses " + path.toStringAST() + ", but " + type.getSimpleName() + " has no " + kind + " '" + name + "'"
                        + Faults.similar(name, known),
                "Write the name of a " + kind + " of " + type.getSimpleName());
    }

    /** What expressions can read of a type. */
    private static final class Properties extends ReflectivePropertyAccessor {

        /** Returns the type of a property; null: there is no such property. */
        @Nullable
        ResolvableType typeOf(String name, Class<?> type) {
            Method getter = findGetterForProperty(name, type, false);
            if (getter != null) {
                return ResolvableType.forMethodReturnType(getter);
            }
            Field field = findField(name, type, false);
            return field == null ? null : ResolvableType.forField(field);
        }

        Stream<String> names(Class<?> type) {
            return Arrays.stream(type.getMethods())
                    .filter(method -> method.getParameterCount() == 0 && method.getDeclaringClass() != Object.class)
                    .map(Method::getName)
                    .map(name -> name.matches("get[A-Z].*") ? Introspector.decapitalize(name.substring(3)) : name);
        }
    }

    /** A bare word in an index or before a colon is the key itself, not a property. */
    private static boolean isKey(SpelNode node, int child) {
        boolean keys = node instanceof Indexer || (node instanceof InlineMap && child % 2 == 0);
        return keys && node.getChild(child) instanceof PropertyOrFieldReference;
    }

    private void checkVariable(String name) {
        if (parameters.isVariable(name)) {
            return;
        }
        if (parameters.missing()) {
            fault(
                    "uses #" + name + ", but the class was compiled without the names of its parameters",
                    "Compile with -parameters (javac) or -java-parameters (kotlinc), or write #p0 for the first parameter");
        } else {
            fault("uses #" + name + ", which is no parameter", "Known are: " + parameters.listed());
        }
    }

    private void fault(String problem, String remedy) {
        faults.add("name", text + " " + problem, remedy);
    }
}
