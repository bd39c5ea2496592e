/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.aopalliance.intercept.Joinpoint;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.aop.Advisor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.context.annotation.Scope;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;

/** Beans that Spring makes early, or beside the usual way: each is locked, or the start says that it is not. */
class KindsOfBeanTest {

    private static final List<Shop> MADE = new CopyOnWriteArrayList<>();

    private final LogRecorder log = new LogRecorder(DistributedLocked.class);

    @BeforeEach
    void forget() {
        MADE.clear();
    }

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aBeanIsLockedOrNamed(Kind kind) {
        runner().withUserConfiguration(kind.configuration).run(context -> {
            if (kind.outcome == Outcome.REFUSED) {
                assertThat(context.getStartupFailure())
                        .isInstanceOf(DistributedLockedConfigurationException.class)
                        .hasMessageContaining("is not locked");
                return;
            }
            assertThat(context).hasNotFailed();
            context.getBeanProvider(Shop.class).forEach(MADE::add);
            boolean isLocked = MADE.stream().allMatch(Shop::isLocked);
            assertThat(MADE).isNotEmpty();
            assertThat(isLocked).isEqualTo(kind.outcome == Outcome.LOCKED);
            if (isLocked) {
                assertThat(log.lines()).isEmpty();
            } else {
                assertThat(log.lines()).singleElement().asString().contains("WARN", "not locked");
            }
        });
    }

    private enum Outcome {
        LOCKED,
        REFUSED,
        WARNED
    }

    private enum Kind {
        POST_PROCESSOR(PostProcessor.class, Outcome.LOCKED),
        ORDERED_POST_PROCESSOR(OrderedPostProcessor.class, Outcome.REFUSED),
        FIRST_POST_PROCESSOR(FirstPostProcessor.class, Outcome.REFUSED),
        FACTORY_POST_PROCESSOR(FactoryPostProcessor.class, Outcome.WARNED),
        REGISTRY_POST_PROCESSOR(RegistryPostProcessor.class, Outcome.WARNED),
        NEEDED_BY_POST_PROCESSOR(NeedingShop.class, Outcome.LOCKED),
        NEEDED_BY_ORDERED_POST_PROCESSOR(OrderedNeedingShop.class, Outcome.REFUSED),
        PROTOTYPE_NEEDED_BY_ORDERED_POST_PROCESSOR(OrderedNeedingPrototype.class, Outcome.REFUSED),
        MADE_FOR_ORDERED_POST_PROCESSOR(OrderedMakingShop.class, Outcome.REFUSED),
        ASKED_FOR_BY_FACTORY_POST_PROCESSOR(AskingForShop.class, Outcome.WARNED),
        PROTOTYPE_ASKED_FOR_BY_FACTORY_POST_PROCESSOR(AskingForPrototype.class, Outcome.REFUSED),
        CONFIGURATION_OF_POST_PROCESSOR(ConfigurationOfPostProcessor.class, Outcome.LOCKED),
        HANDED_IN_BY_FACTORY_POST_PROCESSOR(HandingInShop.class, Outcome.WARNED),
        NEEDED_BY_ADVISOR(NeededByAdvisor.class, Outcome.LOCKED),
        NEEDED_BY_FIRST_ADVISOR(NeededByFirstAdvisor.class, Outcome.LOCKED),
        INFRASTRUCTURE(Infrastructure.class, Outcome.LOCKED),
        INNER_OF_ORDERED_POST_PROCESSOR(InnerOfPostProcessor.class, Outcome.REFUSED),
        SYNTHETIC(Synthetic.class, Outcome.REFUSED);

        private final Class<?> configuration;
        private final Outcome outcome;

        Kind(Class<?> configuration, Outcome outcome) {
            this.configuration = configuration;
            this.outcome = outcome;
        }
    }

    static class Shop {
        @DistributedLocked("shop")
        public boolean isLocked() {
            return LockContext.current().isPresent();
        }
    }

    static class ShopProcessor extends Shop implements BeanPostProcessor {}

    static class OrderedShopProcessor extends ShopProcessor implements Ordered {
        @Override
        public int getOrder() {
            return 0;
        }
    }

    static class FirstShopProcessor extends OrderedShopProcessor implements PriorityOrdered {}

    static class PostProcessor {
        @Bean
        static ShopProcessor shop() {
            return new ShopProcessor();
        }
    }

    static class OrderedPostProcessor {
        @Bean
        static OrderedShopProcessor shop() {
            return new OrderedShopProcessor();
        }
    }

    static class FirstPostProcessor {
        @Bean
        static FirstShopProcessor shop() {
            return new FirstShopProcessor();
        }
    }

    static class ShopFactoryProcessor extends Shop implements BeanFactoryPostProcessor {
        @Override
        public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {}
    }

    static class FactoryPostProcessor {
        @Bean
        static ShopFactoryProcessor shop() {
            return new ShopFactoryProcessor();
        }
    }

    static class ShopRegistryProcessor extends Shop implements BeanDefinitionRegistryPostProcessor {
        @Override
        public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {}
    }

    static class RegistryPostProcessor {
        @Bean
        static ShopRegistryProcessor shop() {
            return new ShopRegistryProcessor();
        }
    }

    record Needing(Shop shop) implements BeanPostProcessor {}

    record OrderedNeeding(Shop shop) implements BeanPostProcessor, Ordered {
        @Override
        public int getOrder() {
            return 0;
        }
    }

    static class NeedingShop {
        @Bean
        static Shop shop() {
            return new Shop();
        }

        @Bean
        static Needing needing(Shop shop) {
            return new Needing(shop);
        }
    }

    static class OrderedNeedingShop {
        @Bean
        static Shop shop() {
            return new Shop();
        }

        @Bean
        static OrderedNeeding needing(Shop shop) {
            return new OrderedNeeding(shop);
        }
    }

    static class OrderedNeedingPrototype {
        @Bean
        @Scope("prototype")
        static Shop shop() {
            return new Shop();
        }

        @Bean
        static OrderedNeeding needing(Shop shop) {
            MADE.add(shop);
            return new OrderedNeeding(shop);
        }
    }

    static class OrderedMakingShop {
        @Bean
        static OrderedNeeding needing(AutowireCapableBeanFactory beans) {
            Shop shop = beans.createBean(Shop.class);
            MADE.add(shop);
            return new OrderedNeeding(shop);
        }
    }

    static class AskingForShop {
        @Bean
        static Shop shop() {
            return new Shop();
        }

        @Bean
        static BeanFactoryPostProcessor asking() {
            return beans -> beans.getBean(Shop.class);
        }
    }

    static class AskingForPrototype {
        @Bean
        @Scope("prototype")
        static Shop shop() {
            return new Shop();
        }

        @Bean
        static BeanFactoryPostProcessor asking() {
            return beans -> MADE.add(beans.getBean(Shop.class));
        }
    }

    static class ConfigurationOfPostProcessor extends Shop {
        @Bean
        BeanPostProcessor made() {
            return new BeanPostProcessor() {};
        }
    }

    static class HandingInShop {
        @Bean
        static BeanFactoryPostProcessor handing() {
            return beans -> beans.registerSingleton("shop", new Shop());
        }
    }

    static class NeededByAdvisor {
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static Advisor needing(Shop shop) {
            assertThat(shop).isNotNull();
            MethodInterceptor none = Joinpoint::proceed;
            return new DefaultPointcutAdvisor(new NameMatchMethodPointcut(), none);
        }

        @Bean
        static Shop shop() {
            return new Shop();
        }
    }

    /** Advisors are made in the order of their definitions, before that of Lockkeeper too. */
    static class NeededByFirstAdvisor implements BeanDefinitionRegistryPostProcessor {
        @Override
        public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
            BeanDefinition ours = registry.getBeanDefinition("distributedLockedAdvisor");
            registry.removeBeanDefinition("distributedLockedAdvisor");
            RootBeanDefinition first = new RootBeanDefinition(NeededByAdvisor.class);
            first.setFactoryMethodName("needing");
            first.setRole(BeanDefinition.ROLE_INFRASTRUCTURE);
            first.setAutowireMode(AutowireCapableBeanFactory.AUTOWIRE_CONSTRUCTOR);
            registry.registerBeanDefinition("first", first);
            registry.registerBeanDefinition("shop", new RootBeanDefinition(Shop.class));
            registry.registerBeanDefinition("distributedLockedAdvisor", ours);
        }
    }

    static class Infrastructure {
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static Shop shop() {
            return new Shop();
        }
    }

    static class InnerOfPostProcessor implements BeanDefinitionRegistryPostProcessor {
        @Override
        public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
            RootBeanDefinition holder = new RootBeanDefinition(Keeping.class);
            holder.getPropertyValues().add("shop", new RootBeanDefinition(Shop.class));
            registry.registerBeanDefinition("holder", holder);
        }
    }

    static class Keeping implements BeanPostProcessor, Ordered {
        public void setShop(Shop shop) {
            MADE.add(shop);
        }

        @Override
        public int getOrder() {
            return 0;
        }
    }

    static class Synthetic implements BeanDefinitionRegistryPostProcessor {
        @Override
        public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
            RootBeanDefinition shop = new RootBeanDefinition(Shop.class);
            shop.setSynthetic(true);
            registry.registerBeanDefinition("shop", shop);
        }
    }
}
