/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.annotation.DistributedLocked;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Spliterator;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.http.HttpEntity;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Controller;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.context.request.async.WebAsyncTask;
import org.springframework.web.servlet.function.ServerResponse;
import org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.ParallelFlux;

/** Results that go on when the method has returned, and would run without the lock. */
class OngoingResultsTest {

    private static final String UNTIL_DONE = ", and the lock is held until it is done";
    private static final String WHILE_WRITTEN =
            "Put @DistributedLocked on a method of another bean, and call that while the response is written";

    private final SpecFixture fixture = new SpecFixture();
    private final LogRecorder log = new LogRecorder(DistributedLocked.class);

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @ParameterizedTest
    @CsvSource({"deferred, DeferredResult", "task, WebAsyncTask", "callable, Callable"})
    void asynchronousResultsOfSpringMvcAreRefused(String method, String type) {
        assertThat(faults(Web.class, method))
                .containsExactly("returns " + type + "<String>, and the " + type
                        + " goes on after the method, without the lock. Return CompletableFuture, which Spring MVC waits"
                        + " for as well" + UNTIL_DONE + ".");
        assertThat(faults(PlainWeb.class, "callable")).hasSize(1);
    }

    @Test
    void aMethodOfAControllerThatServesNoRequestIsOnlyWarnedOf() {
        assertThat(faults(PlainWeb.class, "unmapped")).isEmpty();
        assertThat(log.lines()).singleElement().asString().contains("unmapped() returns Callable<String>");
    }

    @ParameterizedTest
    @CsvSource({
        "streaming, StreamingResponseBody, StreamingResponseBody",
        "emitter, ResponseBodyEmitter, ResponseBodyEmitter",
        "events, SseEmitter, SseEmitter",
        "streamingEntity, ResponseEntity<StreamingResponseBody>, StreamingResponseBody",
        "emitterEntity, ResponseEntity<SseEmitter>, SseEmitter"
    })
    void responsesThatAreWrittenLaterAreRefused(String method, String type, String ongoing) {
        assertThat(faults(Web.class, method))
                .containsExactly("returns " + type + ", and the " + ongoing
                        + " goes on after the method, without the lock. " + WHILE_WRITTEN + ".");
    }

    @ParameterizedTest
    @CsvSource({
        "monoEntity, ResponseEntity<Mono<String>>, Mono, Mono<ResponseEntity<..>>",
        "stageEntity, ResponseEntity<CompletableFuture<String>>, CompletableFuture, CompletableFuture<ResponseEntity<..>>",
        "fluxEntity, ResponseEntity<Flux<String>>, Flux, Flux itself",
        "httpEntity, HttpEntity<Mono<String>>, Mono, Mono<HttpEntity<..>>",
        "optionalStage, Optional<CompletableFuture<String>>, CompletableFuture, CompletableFuture<Optional<..>>",
        "optionalMono, Optional<Mono<String>>, Mono, Mono<Optional<..>>",
        "optionalFuture, Optional<Future<String>>, Future, CompletableFuture<Optional<..>>",
        "parallelEntity, ResponseEntity<ParallelFlux<String>>, ParallelFlux, Flux itself",
        "monoOfFluxEntity, Mono<ResponseEntity<Flux<String>>>, Flux, Flux itself",
        "nestedOptional, CompletableFuture<Optional<CompletableFuture<String>>>, CompletableFuture,"
                + " CompletableFuture<Optional<..>>"
    })
    void whatGoesOnInsideOfAnEntityOrAnOptionalIsRefused(String method, String type, String ongoing, String better) {
        assertThat(faults(Web.class, method))
                .containsExactly("returns " + type + ", and the " + ongoing
                        + " goes on after the method, without the lock. Return " + better + UNTIL_DONE + ".");
    }

    @ParameterizedTest
    @CsvSource({
        "stream, Stream<String>, Stream",
        "numbers, IntStream, IntStream",
        "rows, Rows, Rows",
        "supplier, Supplier<String>, Supplier",
        "callable, Callable<String>, Callable",
        "runnable, Runnable, Runnable",
        "function, 'Function<String, String>', Function",
        "answer, BooleanSupplier, BooleanSupplier",
        "test, Predicate<String>, Predicate",
        "both, 'BiFunction<String, String, String>', BiFunction",
        "provider, ObjectProvider<String>, ObjectProvider",
        "entry, 'Entry<String, Stream<String>>', Stream",
        "entities, List<ResponseEntity<Mono<String>>>, Mono",
        "consumer, Consumer<String>, Consumer",
        "optionalStream, Optional<Stream<String>>, Stream",
        "laterStream, CompletableFuture<Stream<String>>, Stream",
        "futures, List<Future<String>>, Future",
        "monos, 'Map<String, Mono<String>>', Mono",
        "array, CompletableFuture<String>[], CompletableFuture",
        "nested, Mono<CompletableFuture<String>>, CompletableFuture"
    })
    void whatIsReadLaterElsewhereIsWarnedOf(String method, String type, String ongoing) {
        assertThat(faults(Service.class, method)).isEmpty();
        assertThat(log.lines())
                .containsExactly("WARN " + Service.class.getName() + "." + method + "() returns " + type + ", and the "
                        + ongoing
                        + " goes on after the method, without the lock: return what comes out of it, such as a"
                        + " List or a value, or a CompletableFuture, Mono or Flux of that");
    }

    @ParameterizedTest
    @ValueSource(strings = {"page", "value", "optional", "entity", "list", "mono", "future", "flux", "open"})
    void otherResultsGiveNoAlarm(String method) {
        assertThat(faults(Fine.class, method)).isEmpty();
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void aTypeThatIsItsOwnBoundIsLookedAtOnce() {
        LockedApplication.runner().withBean(Catalogue.class).run(context -> assertThat(context)
                .hasNotFailed());
    }

    abstract static class Category<C extends Category<C>> implements Iterable<C> {}

    static class Catalogue {

        @DistributedLocked("catalogue")
        @SuppressWarnings("rawtypes")
        public @Nullable Category load() {
            return null;
        }

        @DistributedLocked("category")
        public <C extends Category<C>> @Nullable C category() {
            return null;
        }
    }

    @Test
    void whatAnOpenTypeHidesIsWarnedOfAtItsFirstCall() {
        LockedApplication.runner().withBean(Open.class).run(context -> {
            Open open = context.getBean(Open.class);
            open.entity("text");
            open.optional("text");
            open.anything("text");
            open.closing(() -> {});
            open.iterator(List.of("x").iterator());
            assertThat(log.lines()).isEmpty();
            open.entity(Mono.just("x"));
            open.optional(new CompletableFuture<>());
            open.anything(Stream.of("x"));
            open.entity(Mono.just("x"));
            open.closing(Stream.of("x"));
            open.iterator(Stream.of("x").iterator());
            assertThat(log.lines())
                    .satisfiesExactly(
                            line -> assertThat(line).startsWith("WARN Open.entity returned a MonoJust, which goes on"),
                            line -> assertThat(line).startsWith("WARN Open.optional returned a CompletableFuture"),
                            line -> assertThat(line)
                                    .startsWith("WARN Open.anything returned a Head, which goes on without the lock,"
                                            + " because T is declared as its return type"),
                            line -> assertThat(line).startsWith("WARN Open.closing returned a Head, which goes on"),
                            line -> assertThat(line).startsWith("WARN Open.iterator returned a"));
        });
    }

    @Test
    void whatAnOpenTypeInsideOfAnotherHidesIsWarnedOfAtItsFirstValue() {
        LockedApplication.runner().withBean(OpenInside.class).run(context -> {
            OpenInside open = context.getBean(OpenInside.class);
            open.mono("text").block();
            open.flux("text").blockLast();
            open.entity("text").block();
            open.stage("text").join();
            open.wildcard(CompletableFuture.completedFuture("done")).block();
            assertThat(log.lines()).isEmpty();
            open.mono(Flux.just("x")).block();
            open.mono(Flux.just("x")).block();
            open.flux(Stream.of("x")).blockLast();
            open.entity(Mono.just("x")).block();
            open.stage(new CompletableFuture<>()).join();
            open.wildcard(new CompletableFuture<>()).block();
            assertThat(log.lines())
                    .satisfiesExactly(
                            line -> assertThat(line)
                                    .startsWith("WARN OpenInside.mono returned a FluxJust, which goes on without the"
                                            + " lock, because Mono<Object> is declared as its return type."),
                            line -> assertThat(line).startsWith("WARN OpenInside.flux returned a Head, which goes on"),
                            line -> assertThat(line).startsWith("WARN OpenInside.entity returned a MonoJust, which"),
                            line -> assertThat(line).startsWith("WARN OpenInside.stage returned a CompletableFuture"),
                            line -> assertThat(line).startsWith("WARN OpenInside.wildcard returned a Completable"));
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"async", "events", "streaming", "stage", "flux", "later"})
    void aResponseOfAHandlerFunctionThatGoesOnIsWarnedOfAtItsFirstCall(String kind) {
        LockedApplication.runner().withBean(Handlers.class).run(context -> {
            Handlers handlers = context.getBean(Handlers.class);
            handlers.handle("plain");
            handlers.later("built").join();
            assertThat(log.lines()).isEmpty();
            for (int call = 1; call <= 2; call++) {
                if (kind.equals("later")) {
                    handlers.later("async").join();
                } else {
                    handlers.handle(kind);
                }
            }
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .startsWith("WARN Handlers." + (kind.equals("later") ? "later" : "handle") + " returned a ")
                    .contains("which goes on without the lock", "here or for a method of another bean");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"reactive", "bare"})
    void aReactiveResponseDoesNotShowWhetherItGoesOn(String method) {
        assertThat(faults(Service.class, method)).isEmpty();
        assertThat(log.lines())
                .singleElement()
                .asString()
                .contains(
                        "ServerResponse",
                        "and a publisher in its body goes on after the method, without the lock: put @DistributedLocked"
                                + " on a method of another bean that returns the values of the body");
    }

    static class Handlers {

        @DistributedLocked
        public ServerResponse handle(String kind) {
            return switch (kind) {
                case "async" -> ServerResponse.async(new CompletableFuture<>());
                case "events" -> ServerResponse.sse(events -> {});
                case "streaming" -> ServerResponse.ok().stream(stream -> {});
                case "stage" -> ServerResponse.ok().body(new CompletableFuture<>());
                case "flux" -> ServerResponse.ok().body(Flux.just("x"));
                default -> ServerResponse.ok().body(kind);
            };
        }

        @DistributedLocked
        public CompletableFuture<ServerResponse> later(String kind) {
            return CompletableFuture.completedFuture(
                    kind.equals("built") ? ServerResponse.ok().build() : handle(kind));
        }
    }

    private List<String> faults(Class<?> type, String method) {
        return fixture.faults(type, method).stream()
                .map(fault -> fault.problem() + ". " + fault.remedy() + ".")
                .toList();
    }

    @RestController
    @SuppressWarnings("NullAway") // The methods are never called.
    static class Web {
        @DistributedLocked
        public DeferredResult<String> deferred() {
            return null;
        }

        @DistributedLocked
        public WebAsyncTask<String> task() {
            return null;
        }

        @GetMapping
        @DistributedLocked
        public Callable<String> callable() {
            return null;
        }

        @DistributedLocked
        public StreamingResponseBody streaming() {
            return null;
        }

        @DistributedLocked
        public ResponseBodyEmitter emitter() {
            return null;
        }

        @DistributedLocked
        public SseEmitter events() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<StreamingResponseBody> streamingEntity() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<SseEmitter> emitterEntity() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<Mono<String>> monoEntity() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<CompletableFuture<String>> stageEntity() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<Flux<String>> fluxEntity() {
            return null;
        }

        @DistributedLocked
        public HttpEntity<Mono<String>> httpEntity() {
            return null;
        }

        @DistributedLocked
        public Optional<CompletableFuture<String>> optionalStage() {
            return null;
        }

        @DistributedLocked
        public Optional<Mono<String>> optionalMono() {
            return null;
        }

        @DistributedLocked
        public Optional<Future<String>> optionalFuture() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<ParallelFlux<String>> parallelEntity() {
            return null;
        }

        @DistributedLocked
        public Mono<ResponseEntity<Flux<String>>> monoOfFluxEntity() {
            return null;
        }

        @DistributedLocked
        public CompletableFuture<Optional<CompletableFuture<String>>> nestedOptional() {
            return null;
        }
    }

    @Controller
    @SuppressWarnings("NullAway") // The methods are never called.
    static class PlainWeb implements Mapped {
        @Override
        @DistributedLocked
        public Callable<String> callable() {
            return null;
        }

        @DistributedLocked
        public Callable<String> unmapped() {
            return null;
        }
    }

    interface Mapped {
        @GetMapping
        Callable<String> callable();
    }

    /** A stream that is also an iterable, as those of some libraries are, has no values of its own. */
    interface Rows extends Stream<String>, Iterable<String> {
        @Override
        void forEach(Consumer<? super String> action);

        @Override
        Spliterator<String> spliterator();
    }

    @SuppressWarnings("NullAway") // The methods are never called.
    static class Service {

        @DistributedLocked
        public Mono<org.springframework.web.reactive.function.server.ServerResponse> reactive() {
            return null;
        }

        @DistributedLocked
        public org.springframework.web.reactive.function.server.ServerResponse bare() {
            return null;
        }

        @DistributedLocked
        public Rows rows() {
            return null;
        }

        @DistributedLocked
        public Stream<String> stream() {
            return null;
        }

        @DistributedLocked
        public IntStream numbers() {
            return null;
        }

        @DistributedLocked
        public BooleanSupplier answer() {
            return () -> true;
        }

        @DistributedLocked
        public Predicate<String> test() {
            return String::isEmpty;
        }

        @DistributedLocked
        public BiFunction<String, String, String> both() {
            return String::concat;
        }

        @DistributedLocked
        public @Nullable ObjectProvider<String> provider() {
            return null;
        }

        @DistributedLocked
        public Map.Entry<String, Stream<String>> entry() {
            return Map.entry("", Stream.of());
        }

        @DistributedLocked
        public List<ResponseEntity<Mono<String>>> entities() {
            return List.of();
        }

        @DistributedLocked
        public Supplier<String> supplier() {
            return null;
        }

        @DistributedLocked
        public Callable<String> callable() {
            return null;
        }

        @DistributedLocked
        public Runnable runnable() {
            return null;
        }

        @DistributedLocked
        public Function<String, String> function() {
            return null;
        }

        @DistributedLocked
        public Consumer<String> consumer() {
            return null;
        }

        @DistributedLocked
        public Optional<Stream<String>> optionalStream() {
            return null;
        }

        @DistributedLocked
        public CompletableFuture<Stream<String>> laterStream() {
            return null;
        }

        @DistributedLocked
        public List<Future<String>> futures() {
            return null;
        }

        @DistributedLocked
        public Map<String, Mono<String>> monos() {
            return null;
        }

        @DistributedLocked
        public CompletableFuture<String>[] array() {
            return null;
        }

        @DistributedLocked
        public Mono<CompletableFuture<String>> nested() {
            return null;
        }
    }

    /** As the pages of Spring Data: they have their values, and supply a stream of them besides. */
    interface Page extends Iterable<String>, Supplier<Stream<String>> {}

    @SuppressWarnings("NullAway") // The methods are never called.
    static class Fine {
        @DistributedLocked
        public Page page() {
            return null;
        }

        @DistributedLocked
        public String value() {
            return null;
        }

        @DistributedLocked
        public Optional<String> optional() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<List<String>> entity() {
            return null;
        }

        @DistributedLocked
        public List<Optional<String>> list() {
            return null;
        }

        @DistributedLocked
        public Mono<ResponseEntity<String>> mono() {
            return null;
        }

        @DistributedLocked
        public CompletableFuture<Optional<String>> future() {
            return null;
        }

        @DistributedLocked
        public Flux<List<String>> flux() {
            return null;
        }

        @DistributedLocked
        public ResponseEntity<?> open() {
            return null;
        }
    }

    static class Open {
        @DistributedLocked
        public ResponseEntity<?> entity(Object body) {
            return ResponseEntity.ok(body);
        }

        @DistributedLocked
        public Optional<Object> optional(Object value) {
            return Optional.of(value);
        }

        @DistributedLocked
        public <T> T anything(T value) {
            return value;
        }

        @DistributedLocked
        public AutoCloseable closing(AutoCloseable value) {
            return value;
        }

        @DistributedLocked
        public Iterator<String> iterator(Iterator<String> value) {
            return value;
        }
    }

    static class OpenInside {
        @DistributedLocked
        public Mono<Object> mono(Object value) {
            return Mono.just(value);
        }

        @DistributedLocked
        public Flux<Object> flux(Object value) {
            return Flux.just(value);
        }

        @DistributedLocked
        public Mono<ResponseEntity<?>> entity(Object value) {
            return Mono.just(ResponseEntity.ok(value));
        }

        @DistributedLocked
        public CompletableFuture<Object> stage(Object value) {
            return CompletableFuture.completedFuture(value);
        }

        @DistributedLocked
        public Mono<?> wildcard(Object value) {
            return Mono.just(value);
        }
    }
}
