/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockOperations;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.util.function.SingletonSupplier;

/** Finds the beans that lock, but creates none before the first call of an annotated method. */
final class OperationsLocator {

    static final String ATTRIBUTE = "lockTemplate";

    private final ConfigurableListableBeanFactory beans;
    private volatile @Nullable List<String> known;

    OperationsLocator(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
    }

    /** Finds the bean for a method. */
    Supplier<LockOperations> find(String name, Faults faults) {
        if (name.isEmpty()) {
            refuseAmbiguity(faults);
            return SingletonSupplier.of(() -> beans.getBean(LockOperations.class));
        }
        if (!beans.containsBean(name)) {
            faults.add(ATTRIBUTE, "there is no bean '" + name + "'", "Write the name of a bean: " + names());
        } else if (!beans.isTypeMatch(name, LockOperations.class)) {
            faults.add(ATTRIBUTE, "the bean '" + name + "' is no LockOperations", "Write the name of one: " + names());
        }
        return SingletonSupplier.of(() -> beans.getBean(name, LockOperations.class));
    }

    private void refuseAmbiguity(Faults faults) {
        List<BeanDefinition> candidates = names().stream()
                .filter(beans::containsBeanDefinition)
                .map(beans::getMergedBeanDefinition)
                .filter(OperationsLocator::isDefaultCandidate)
                .toList();
        long primary = candidates.stream().filter(BeanDefinition::isPrimary).count();
        long regular =
                candidates.stream().filter(candidate -> !candidate.isFallback()).count();
        if (candidates.size() > 1 && primary != 1 && regular != 1) {
            faults.add(
                    ATTRIBUTE,
                    "is not set, and there are several beans to lock with",
                    "Write the name of one, or make one of them @Primary: " + names());
        }
    }

    private static boolean isDefaultCandidate(BeanDefinition bean) {
        return bean.isAutowireCandidate()
                && !(bean instanceof AbstractBeanDefinition definition && !definition.isDefaultCandidate());
    }

    private List<String> names() {
        List<String> names = known;
        if (names == null) {
            names = List.of(beans.getBeanNamesForType(LockOperations.class, true, false));
            if (beans.isConfigurationFrozen()) {
                // Spring looks at every bean for this answer, and does not remember it.
                known = names;
            }
        }
        return names;
    }
}
