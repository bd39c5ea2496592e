/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import static org.assertj.core.api.Assertions.assertThat;

import com.acme.WovenApplication;
import io.lockkeeper.testing.JavaProcess;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.aspectj.weaver.loadtime.Agent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each test starts a JVM with or without the weaver, which reads the file of the documentation. */
class WovenApplicationTest {

    private static final Duration TIMEOUT = Duration.ofMinutes(2);

    @TempDir
    private Path classPath;

    @Test
    void everyCallOfAWovenMethodIsLockedOnce() throws IOException {
        try (JavaProcess woven = startWoven(documented(), "--lockkeeper.mode=aspectj")) {
            assertLocked(woven);
            assertThat(woven.output()).doesNotContain("[AppClassLoader");
        }
    }

    @Test
    void theAspectMayBeIncludedTooAndTheModeIsReadAsSpringBootReadsIt() throws IOException {
        String wider = documented().replace("<weaver>", "<weaver><include within=\"io.lockkeeper..*\"/>");
        try (JavaProcess woven = startWoven(wider, "--lockkeeper.mode=Aspect-J ")) {
            assertLocked(woven);
        }
    }

    private static void assertLocked(JavaProcess woven) {
        woven.expect("done", TIMEOUT);
        assertThat(woven.output().lines())
                .contains(
                        "proxied false",
                        "public [stock:lamp]",
                        "self-invoked [stock:lamp]",
                        "private [private:lamp]",
                        "final [final:lamp]",
                        "composed [composed:lamp]",
                        "bridge [handled:text]",
                        "final class [sealed]",
                        "not a bean [stock:chair]",
                        "nobody waits: fallback for BUSY",
                        "stage [stage:lamp]",
                        "stage that waits [busy]",
                        "publisher [publisher] [publisher]",
                        "publisher that waits [busy]",
                        "overridden [stock of the outlet, stock of the shop]",
                        "transaction [lock, begin, commit, release]",
                        "acquired 19",
                        "before the start [nothing] [nothing]",
                        "after the end [nothing] [nothing]",
                        "with lockkeeper.mode=proxy [handled:text]",
                        "with lockkeeper.enabled=false [handled:text]")
                .anyMatch(line -> line.contains("is a suspend function, into which no lock can be woven"));
        assertThat(woven.output().lines())
                .filteredOn(line -> line.contains("[com.acme.WovenApplication$Shop.unlocked] ran without a lock"))
                .singleElement()
                .asString()
                .contains("WARN", "before the application context that locks woven methods had started");
        assertThat(woven.output().lines())
                .filteredOn(line -> line.contains("WovenApplication$Shop.unlocked was called after the application"
                        + " context that locks woven methods had closed, and runs without a lock"))
                .singleElement()
                .asString()
                .contains("WARN");
    }

    @Test
    void aWeaverWithoutTheModeLeavesTheLocksToProxies() throws IOException {
        try (JavaProcess woven = startWoven(documented(), "--lockkeeper.mode=proxy")) {
            woven.awaitExit(TIMEOUT);
            assertThat(woven.output())
                    .contains(
                            "APPLICATION FAILED TO START",
                            "privateMethod(String)",
                            "is private, and no proxy can lock it")
                    .doesNotContain("ran without a lock");
        }
    }

    @Test
    void theModeWithoutAWeaverFailsWithWhatToDo() {
        try (JavaProcess plain =
                JavaProcess.start(WovenApplication.class, "--lockkeeper.store=memory", "--lockkeeper.mode=aspectj")) {
            plain.awaitExit(TIMEOUT);
            assertThat(plain.output())
                    .contains(
                            "APPLICATION FAILED TO START",
                            "lockkeeper.mode is aspectj",
                            "-javaagent:aspectjweaver.jar");
        }
    }

    /** A proxy puts the lock around the woven method, whose body runs on a thread of its own. */
    @Test
    void anAsynchronousBodyThatIsWovenInsideOfItsLockFailsTheStart() throws IOException {
        try (JavaProcess woven = startAsynchronous("")) {
            woven.awaitExit(TIMEOUT);
            assertThat(woven.output()).contains("Seller.sell()", "Seller.sellLater()");
            assertThat(woven.output().lines())
                    .filteredOn(line -> line.strip().startsWith("runs on another thread than its lock"))
                    .hasSize(2);
        }
    }

    @Test
    void withoutAnExecutorTheWovenBodyRunsUnderItsLock() throws IOException {
        try (JavaProcess woven = startAsynchronous("", "--executor=false")) {
            woven.awaitExit(TIMEOUT);
            assertThat(woven.output()).contains("held [sale] by the caller");
        }
    }

    @Test
    void anAsynchronousMethodIsLockedOnItsOwnThreadWhereBothAreWoven() throws IOException {
        String lock = "<aspect name=\"" + DistributedLockedAspect.class.getName() + "\"/>";
        try (JavaProcess woven = startAsynchronous(lock, "--lockkeeper.mode=aspectj")) {
            woven.awaitExit(TIMEOUT);
            assertThat(woven.output()).contains("held [sale] elsewhere");
        }
    }

    private JavaProcess startAsynchronous(String lock, String... arguments) throws IOException {
        String aspects = """
                <aspectj>
                    <weaver>
                        <include within="io.lockkeeper.weaving..*"/>
                    </weaver>
                    <aspects>
                        <aspect name="org.springframework.scheduling.aspectj.AnnotationAsyncExecutionAspect"/>
                        <aspect name="org.springframework.transaction.aspectj.AnnotationTransactionAspect"/>
                        %s
                    </aspects>
                </aspectj>
                """.formatted(lock);
        Path aop = Files.writeString(classPath.resolve("aop.xml"), aspects);
        return JavaProcess.start(
                List.of("-javaagent:" + weaver(), "-Dorg.aspectj.weaver.loadtime.configuration=" + aop.toUri()),
                AsynchronousApplication.class,
                Stream.concat(Stream.of("--lockkeeper.store=memory"), Stream.of(arguments))
                        .toArray(String[]::new));
    }

    /** Transactions are woven into the same methods, so that they look woven. */
    @Test
    void aWeaverThatDoesNotKnowTheAspectFailsWithWhatToDo() throws IOException {
        String transactions = """
                <aspectj>
                    <aspects>
                        <aspect name="org.springframework.transaction.aspectj.AnnotationTransactionAspect"/>
                    </aspects>
                </aspectj>
                """;
        Path aop = Files.writeString(classPath.resolve("aop.xml"), transactions);
        try (JavaProcess woven = JavaProcess.start(
                List.of("-javaagent:" + weaver(), "-Dorg.aspectj.weaver.loadtime.configuration=" + aop.toUri()),
                TransactionalApplication.class,
                "--lockkeeper.store=memory",
                "--lockkeeper.mode=aspectj")) {
            woven.awaitExit(TIMEOUT);
            assertThat(woven.output())
                    .doesNotContain("held [")
                    .contains("APPLICATION FAILED TO START", "lockkeeper.mode is aspectj", "Lockkeeper's aspect");
        }
    }

    /** Returns the file as the documentation has it. */
    private static String documented() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "weaving.md"));
        String fence = "```xml\n";
        int begin = page.indexOf(fence) + fence.length();
        String file = page.substring(begin, page.indexOf("```", begin));
        assertThat(file).startsWith("<aspectj>").contains("com.acme");
        return file;
    }

    private JavaProcess startWoven(String file, String mode) throws IOException {
        Files.writeString(Files.createDirectory(classPath.resolve("META-INF")).resolve("aop.xml"), file);
        return JavaProcess.start(
                List.of("-javaagent:" + weaver()),
                classPath + File.pathSeparator + System.getProperty("java.class.path"),
                WovenApplication.class,
                "--logging.level.io.lockkeeper.annotation=warn",
                "--lockkeeper.store=memory",
                mode);
    }

    private static Path weaver() {
        try {
            return Path.of(Agent.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
        } catch (URISyntaxException strange) {
            throw new IllegalStateException(strange);
        }
    }
}
