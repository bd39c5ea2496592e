/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.function.Predicate;
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

/** Finds in a parsed expression what would be null, or fail, at every call. */
final class IslandCheck {

    private final String island;
    private final ParameterNames parameters;
    private final Predicate<String> beans;
    private final Faults faults;

    IslandCheck(String island, ParameterNames parameters, Predicate<String> beans, Faults faults) {
        this.island = island;
        this.parameters = parameters;
        this.beans = beans;
        this.faults = faults;
    }

    /** Checks an expression with everything in it. */
    void check(SpelNode expression) {
        walk(expression, true, true);
    }

    /**
     * Checks a part of the expression.
     *
     * @param node the part
     * @param scopeIsRoot whether arguments in it are read from the root object, and not from an element of a collection
     * @param activeIsRoot whether a property in it is read from the root object
     */
    private void walk(SpelNode node, boolean scopeIsRoot, boolean activeIsRoot) {
        boolean scope = scopeIsRoot;
        boolean active = activeIsRoot;
        if (node instanceof VariableReference variable) {
            checkVariable(variable.toStringAST().substring(1));
        } else if (node instanceof FunctionReference) {
            fault(
                    node.toStringAST() + " calls a function, and there are none",
                    "Call a method of a bean, as in @bean.method(..)");
        } else if (node instanceof BeanReference) {
            checkBean(node.toStringAST().replaceAll("[@'\"]", ""));
        } else if (node instanceof PropertyOrFieldReference property) {
            checkProperty(property.getName(), active);
        } else if (node instanceof MethodReference method) {
            checkMethod(method.getName(), active);
            active = scope;
        } else if (node instanceof Projection || node instanceof Selection) {
            scope = false;
            active = false;
        } else if (node instanceof Indexer) {
            active = scope;
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            if (!isKey(node, i)) {
                walk(node.getChild(i), scope, active && !(node instanceof CompoundExpression && i > 0));
            }
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

    private void checkBean(String name) {
        if (!beans.test(name)) {
            fault("uses the bean '" + name + "', which does not exist", "Write the name of a bean");
        }
    }

    private void checkProperty(String name, boolean ofRoot) {
        if (ofRoot && !NameRoot.PROPERTIES.contains(name)) {
            fault(
                    "uses '" + name + "' without '#', which is neither a parameter nor a property of #root",
                    "Write #" + name + " for a parameter; known are: " + parameters.listed());
        }
    }

    private void checkMethod(String name, boolean ofRoot) {
        if (ofRoot) {
            fault(
                    "calls " + name + "(..) on nothing",
                    "Call it on a parameter, on a bean as in @bean." + name + "(..), or on #root.target");
        }
    }

    private void fault(String problem, String remedy) {
        faults.add("name", island + " " + problem, remedy);
    }
}
