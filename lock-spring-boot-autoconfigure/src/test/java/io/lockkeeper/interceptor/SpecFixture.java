/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

/** Resolves the specs of methods as in an application with some properties and beans. */
final class SpecFixture {

    private final DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    private final MethodLockSpecs specs = new MethodLockSpecs(beans);

    SpecFixture() {
        StandardEnvironment environment = new StandardEnvironment();
        environment
                .getPropertySources()
                .addFirst(new MapPropertySource("test", Map.of("known.wait", "3s", "known.name", "east")));
        beans.addEmbeddedValueResolver(environment::resolveRequiredPlaceholders);
    }

    SpecFixture withBean(String name, Object bean) {
        beans.registerSingleton(name, bean);
        return this;
    }

    static Method method(Class<?> type, String name) {
        return Arrays.stream(type.getDeclaredMethods())
                .filter(method -> method.getName().equals(name) && !method.isBridge())
                .findFirst()
                .orElseThrow();
    }

    void define(String name, Object bean) {
        beans.registerSingleton(name, bean);
    }

    MethodLockSpec spec(Class<?> type, String name) {
        return specs.of(method(type, name), type, false);
    }

    List<String> names(Object target, String name, Object... args) {
        return spec(target.getClass(), name).request(target, args).names();
    }

    List<DistributedLockedFault> faults(Class<?> type, String name) {
        return faults(type, name, false);
    }

    List<DistributedLockedFault> faults(Class<?> type, String name, boolean woven) {
        AnnotatedMethod method = AnnotatedMethod.find(method(type, name), type);
        Faults faults = new Faults(method);
        new MethodCheck(specs, woven).checkAnnotation(method, false, faults);
        return faults.found();
    }
}
