/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.BeanResolver;
import org.springframework.expression.ConstructorResolver;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.IndexAccessor;
import org.springframework.expression.MethodResolver;
import org.springframework.expression.OperatorOverloader;
import org.springframework.expression.PropertyAccessor;
import org.springframework.expression.TypeComparator;
import org.springframework.expression.TypeConverter;
import org.springframework.expression.TypeLocator;
import org.springframework.expression.TypedValue;

/** The arguments of one call as variables; everything else, with its caches, is shared by all calls. */
final class NameContext implements EvaluationContext {

    private final EvaluationContext shared;
    private final Map<String, Integer> indexes;
    private final Root root;

    /**
     * What expressions see as {@code #root}.
     *
     * @param method the annotated method of the bean's class
     * @param args the arguments of the call
     * @param target the bean, not its proxy
     * @param targetClass the bean's class
     */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    record Root(
            Method method,
            @Nullable Object[] args,
            @Nullable Object target,
            Class<?> targetClass) {

        static boolean hasProperty(String name) {
            return Arrays.stream(Root.class.getRecordComponents())
                    .anyMatch(component -> component.getName().equals(name));
        }
    }

    NameContext(EvaluationContext shared, Map<String, Integer> indexes, Root root) {
        this.shared = shared;
        this.indexes = indexes;
        this.root = root;
    }

    @Override
    public TypedValue getRootObject() {
        return new TypedValue(root);
    }

    @Override
    public @Nullable Object lookupVariable(String name) {
        Integer index = indexes.get(name);
        return index == null ? null : root.args()[index];
    }

    @Override
    public void setVariable(String name, @Nullable Object value) {
        throw new UnsupportedOperationException("An expression in a lock name must not assign variables");
    }

    @Override
    public boolean isAssignmentEnabled() {
        return false;
    }

    @Override
    public List<PropertyAccessor> getPropertyAccessors() {
        return shared.getPropertyAccessors();
    }

    @Override
    public List<IndexAccessor> getIndexAccessors() {
        return shared.getIndexAccessors();
    }

    @Override
    public List<ConstructorResolver> getConstructorResolvers() {
        return shared.getConstructorResolvers();
    }

    @Override
    public List<MethodResolver> getMethodResolvers() {
        return shared.getMethodResolvers();
    }

    @Override
    public @Nullable BeanResolver getBeanResolver() {
        return shared.getBeanResolver();
    }

    @Override
    public TypeLocator getTypeLocator() {
        return shared.getTypeLocator();
    }

    @Override
    public TypeConverter getTypeConverter() {
        return shared.getTypeConverter();
    }

    @Override
    public TypeComparator getTypeComparator() {
        return shared.getTypeComparator();
    }

    @Override
    public OperatorOverloader getOperatorOverloader() {
        return shared.getOperatorOverloader();
    }
}
