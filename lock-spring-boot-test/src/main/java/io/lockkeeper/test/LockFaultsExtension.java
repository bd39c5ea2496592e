/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * Gives tests their {@link LockFaults}, as a parameter, and ends all faults after each test.
 *
 * <p>With {@code @ExtendWith(LockFaultsExtension.class)} beside {@code @SpringBootTest} these are the faults of the
 * application. Without Spring, {@link #inMemory()} has a template of its own:
 *
 * <pre>{@code
 * @RegisterExtension
 * static final LockFaultsExtension locks = LockFaultsExtension.inMemory();
 *
 * @Test
 * void stopsWhenTheLockIsLost(LockTemplate template, LockFaults faults) { ... }
 * }</pre>
 */
public final class LockFaultsExtension
        implements ParameterResolver,
                BeforeAllCallback,
                BeforeEachCallback,
                BeforeTestExecutionCallback,
                AfterEachCallback,
                AfterAllCallback {

    private static final Namespace FAULTS = Namespace.create(LockFaultsExtension.class);

    private final boolean inMemory;

    /** The template of {@link #inMemory()}: a new one for the first test after a close, in another class. */
    private @Nullable OwnTemplate own;

    private boolean closed;

    /** How many classes, one inside another, have begun and not ended: none where this is a field of each instance. */
    private final AtomicInteger classes = new AtomicInteger();

    /** Creates an extension that uses the beans of the application under test. */
    public LockFaultsExtension() {
        this(false);
    }

    private LockFaultsExtension(boolean inMemory) {
        this.inMemory = inMemory;
    }

    private record OwnTemplate(LockFaults faults, LockTemplate template) {}

    /**
     * Returns an extension with a template of its own, in memory, which is closed after the last test of the class, or
     * after its test where the extension is no static field. The next class, if it shares the extension, has a new one.
     */
    public static LockFaultsExtension inMemory() {
        return new LockFaultsExtension(true);
    }

    private synchronized OwnTemplate own() {
        if (own == null) {
            LockFaults faults = new LockFaults();
            LockTemplate template = LockTemplate.builder(faults.watch(new MemoryLockStore()))
                    .leaseTime(Duration.ofSeconds(3))
                    .shutdownWait(Duration.ZERO)
                    .listener(faults.listener())
                    .build();
            own = new OwnTemplate(faults, template);
        }
        return own;
    }

    /**
     * Returns the template of {@link #inMemory()}, whose leases last 3 s.
     *
     * @throws IllegalStateException if the application under test has the template
     */
    public LockTemplate template() {
        if (!inMemory) {
            throw new IllegalStateException("The template is a bean of the application under test: inject it there");
        }
        return own().template();
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext test) {
        Class<?> type = parameter.getParameter().getType();
        // Spring resolves other types, the template of an application, and what is to be autowired itself.
        return (type == LockFaults.class && (inMemory || !isAutowired(parameter)))
                || (inMemory && (type == LockTemplate.class || type == LockOperations.class));
    }

    private static boolean isAutowired(ParameterContext parameter) {
        return parameter.isAnnotated(Autowired.class)
                || parameter.getDeclaringExecutable().isAnnotationPresent(Autowired.class);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext test) {
        return parameter.getParameter().getType() == LockFaults.class ? faults(test) : template();
    }

    @Override
    public void beforeAll(ExtensionContext test) {
        classes.incrementAndGet();
        reopen();
    }

    @Override
    public void beforeEach(ExtensionContext test) {
        reopen();
        begin(test);
    }

    /** Spring may have made another application meanwhile. */
    @Override
    public void beforeTestExecution(ExtensionContext test) {
        begin(test);
    }

    private void begin(ExtensionContext test) {
        LockFaults faults = faults(test);
        LockFaults before = (LockFaults) test.getStore(FAULTS).get(this);
        if (faults != before) {
            if (before != null) {
                before.testEnds();
            }
            faults.testBegins();
            test.getStore(FAULTS).put(this, faults);
        }
    }

    /** The application may be closed, and is not asked for: Spring would make another one. */
    @Override
    public void afterEach(ExtensionContext test) {
        LockFaults faults = (LockFaults) test.getStore(FAULTS).remove(this);
        if (faults != null) {
            faults.testEnds();
        }
        if (classes.get() == 0) {
            close();
        }
    }

    @Override
    public void afterAll(ExtensionContext test) {
        if (classes.decrementAndGet() == 0) {
            close();
        }
    }

    private synchronized void close() {
        if (own != null) {
            own.template().close();
            closed = true;
        }
    }

    private synchronized void reopen() {
        if (closed) {
            own = null;
            closed = false;
        }
    }

    private LockFaults faults(ExtensionContext test) {
        if (inMemory) {
            return own().faults();
        }
        try {
            return SpringExtension.getApplicationContext(test).getBean(LockFaults.class);
        } catch (NoSuchBeanDefinitionException absent) {
            throw new IllegalStateException(
                    "No LockFaults in the application under test. A test of a slice, such as @WebMvcTest, adds"
                            + " @ImportAutoConfiguration(LockFaultsAutoConfiguration.class); one without an application"
                            + " takes LockFaultsExtension.inMemory()",
                    absent);
        }
    }
}
