/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockTemplate;
import java.util.Arrays;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;

/** Closes the templates when the application ends, before connection factories stop; not when it is merely stopped. */
final class LockTemplateShutdown implements SmartLifecycle {

    /** Connection factories have phase 0; web servers and executors stand near the largest integer. */
    static final int PHASE = 1024;

    private final ConfigurableApplicationContext context;
    private volatile boolean running;

    LockTemplateShutdown(ConfigurableApplicationContext context) {
        this.context = context;
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        if (context.isClosed()) {
            ConfigurableListableBeanFactory beans = context.getBeanFactory();
            Arrays.stream(beans.getBeanNamesForType(LockTemplate.class, false, false))
                    .filter(beans::containsSingleton)
                    .map(name -> beans.getBean(name, LockTemplate.class))
                    .forEach(LockTemplate::close);
        }
        running = false;
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
