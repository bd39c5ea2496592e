/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.EnumMap;
import java.util.GregorianCalendar;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.Opcodes;
import org.springframework.expression.spel.CodeFlow;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.ast.StringLiteral;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.util.LinkedCaseInsensitiveMap;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.ObjectUtils;

class LockNamesTest {

    private final SpecFixture fixture = new SpecFixture().withBean("tenants", new Tenants());
    private final Shop shop = new Shop();

    @Test
    void unlessGivenTheNameIsThatOfTheDeclaringClassAndTheMethod() {
        assertThat(fixture.names(shop, "unnamed")).containsExactly(Shop.class.getName() + ".unnamed");
    }

    @Test
    void textStaysAsItIs() {
        assertThat(fixture.names(shop, "plainWithHash", 1)).containsExactly("queue#main");
    }

    @Test
    void aNameThatIsAlwaysTheSameIsOneRequestForAllCalls() {
        MethodLockSpec spec = fixture.spec(Shop.class, "plainWithHash");
        assertThat(spec.request(shop, new Object[] {1})).isSameAs(spec.request(shop, new Object[] {2}));
    }

    @ParameterizedTest
    @CsvSource({
        "byName, order:7",
        "byPosition, 7-7",
        "byRoot, byRoot/7/Shop",
        "byBean, north:stock",
        "placeholder, east:7",
        "fallbackPlaceholder, west:7",
        "nested, yes",
        "braces, '{7}'",
        "quotedVariable, #order7#order"
    })
    void islandsAreReplacedByTheirValues(String method, String expected) {
        assertThat(fixture.names(shop, method, new Order("7"))).containsExactly(expected);
    }

    @Test
    void aCollectionGivesOneNameForEachElement() {
        assertThat(fixture.names(shop, "items", List.of("a", "b"))).containsExactly("item:a", "item:b");
        assertThat(fixture.names(shop, "array", new Object[] {new int[] {1, 2}}))
                .containsExactly("1", "2");
    }

    @Test
    void severalCollectionsGiveAllCombinations() {
        assertThat(fixture.names(shop, "pairs", List.of("a", "b"), List.of(1, 2)))
                .containsExactly("a-1", "a-2", "b-1", "b-2");
    }

    @Test
    void severalNamesAreLockedTogether() {
        assertThat(fixture.names(shop, "two", new Order("7"))).containsExactly("order:7", "stock");
    }

    @Test
    void anExpressionCannotChangeTheArguments() {
        Object[] args = {new Order("7")};
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "assigning", args))
                .withMessageContaining("#{#order = 'x'} cannot be evaluated");
        assertThat(args).containsExactly(new Order("7"));
    }

    @Test
    void aValueIsNeverEvaluated() {
        assertThat(fixture.names(shop, "text", "#{T(java.lang.System).exit(1)} ${known.name}"))
                .containsExactly("#{T(java.lang.System).exit(1)} ${known.name}");
    }

    @Test
    void anOptionalIsItsValue() {
        assertThat(fixture.names(shop, "optional", Optional.of("x"))).containsExactly("x");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "optional", Optional.empty()))
                .withMessageContaining("is null");
        assertThat(fixture.names(shop, "items", List.of(Optional.of("a"), OptionalInt.of(7))))
                .containsExactly("item:a", "item:7");
        assertThat(fixture.names(shop, "text", OptionalLong.of(7))).containsExactly("7");
        assertThat(fixture.names(shop, "text", OptionalDouble.of(0.5))).containsExactly("0.5");
    }

    static List<Object> valuesThatAreEmpty() {
        return List.of(
                OptionalInt.empty(),
                OptionalLong.empty(),
                OptionalDouble.empty(),
                Optional.of(Optional.empty()),
                List.of(Optional.of(4), Optional.empty()),
                List.of(OptionalLong.empty()));
    }

    @ParameterizedTest
    @MethodSource("valuesThatAreEmpty")
    void anEmptyOptionalIsNullWhereverItStands(Object value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "text", value))
                .withMessageContaining("is null");
    }

    @Test
    void nullIsAnErrorThatNamesTheMethodAndTheIsland() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "byName", new Order(null)))
                .withMessageContaining("#{#order.id}")
                .withMessageContaining("Shop.byName(Order)")
                .withMessageContaining("is null");
    }

    @Test
    void blankAndEmptyAreErrors() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "text", " "))
                .withMessageContaining("is blank");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "items", List.of()))
                .withMessageContaining("is empty");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "items", Arrays.asList("a", null)))
                .withMessageContaining("is null");
    }

    @Test
    void aFailingExpressionIsAnErrorThatNamesTheIsland() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "byName", new Object[] {null}))
                .withMessageContaining("#{#order.id}")
                .withMessageContaining("cannot be evaluated");
    }

    @Test
    void anObjectWithoutATextOfItsOwnIsAnError() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "text", new Object()))
                .withMessageContaining("name a property of it");
    }

    static List<Object> objectsWithoutATextOfTheirOwn() {
        Tenant tenant = new Tenant();
        ProxyFactory byClass = new ProxyFactory(tenant);
        byClass.setProxyTargetClass(true);
        Runnable lambda = () -> {};
        Callable<String> callable = new Callable<>() {
            @Override
            public String call() {
                return "";
            }
        };
        return List.of(
                tenant,
                byClass.getProxy(),
                new ProxyFactory(callable).getProxy(),
                Proxy.newProxyInstance(
                        LockNamesTest.class.getClassLoader(),
                        new Class<?>[] {Runnable.class},
                        (proxy, method, args) -> "$Proxy7@1f2e3d4"),
                lambda,
                callable,
                new Wrapper(tenant),
                new Wrapper(lambda),
                new Wrapper(new byte[] {1}),
                new Wrapper(new String[] {"a"}),
                new Wrapper(Optional.of(new Object())),
                new int[][] {{1}},
                List.of(List.of(tenant)),
                Map.of("a", tenant),
                Map.of(tenant, "a"),
                new AtomicReference<>(tenant),
                Optional.of(Optional.of(tenant)),
                new Described());
    }

    @ParameterizedTest
    @MethodSource("objectsWithoutATextOfTheirOwn")
    void anObjectThatIsOrContainsOneWithoutATextOfItsOwnIsAnError(Object value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "text", new Object[] {value}))
                .withMessageContaining("without a text of its own")
                .withMessageContaining("name a property of it");
    }

    @SuppressWarnings({"JdkObsolete", "IdentityHashMapUsage"}) // Users may have any map.
    static List<Object> partsInNoOrder() {
        Map<String, Integer> map = Map.of("a", 1, "b", 2);
        return List.of(
                map,
                new HashMap<>(map),
                new HashMap<>(map) {},
                new ConcurrentHashMap<>(map),
                new Hashtable<>(map),
                new WeakHashMap<>(map),
                properties(map),
                new IdentityHashMap<>(map),
                Collections.unmodifiableMap(new HashMap<>(map)),
                Collections.synchronizedMap(new WeakHashMap<>(map)),
                Collections.unmodifiableMap(Collections.synchronizedMap(new ConcurrentHashMap<>(map))),
                List.of(Set.of("a", "b")),
                List.of(new HashSet<>(map.keySet())),
                List.of(map.keySet()),
                List.of(new HashMap<>(map).keySet()),
                List.of(new HashMap<>(map).entrySet()),
                List.of(new ConcurrentHashMap<>(map).keySet()),
                List.of(Collections.unmodifiableSet(new HashSet<>(map.keySet()))),
                List.of(setFrom(new WeakHashMap<>())));
    }

    private static Properties properties(Map<String, Integer> map) {
        Properties properties = new Properties();
        properties.putAll(map);
        return properties;
    }

    /** The order of an unmodifiable set or map is another one in each JVM. */
    @ParameterizedTest
    @MethodSource("partsInNoOrder")
    void aMapOrASetWhoseOrderDiffersBetweenMachinesIsAnError(Object value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "text", value))
                .withMessageContaining("has its parts in no order that all machines share: name them one by one, or"
                        + " let it be sorted");
    }

    static List<Object> partsInAnOrder() {
        Map<String, Integer> map = new LinkedHashMap<>();
        map.put("b", 2);
        map.put("a", 1);
        LinkedCaseInsensitiveMap<Integer> insensitive = new LinkedCaseInsensitiveMap<>();
        insensitive.putAll(map);
        return List.of(
                map,
                Collections.unmodifiableMap(map),
                Collections.synchronizedMap(Collections.unmodifiableMap(map)),
                new LinkedMultiValueMap<>(Map.of("a", List.of("1"))),
                insensitive,
                List.of(new CopyOnWriteArraySet<>(List.of("b", "a"))),
                List.of(map.keySet()),
                List.of(Collections.unmodifiableSet(new LinkedHashSet<>(List.of("b", "a")))),
                List.of(setFrom(new LinkedHashMap<>())));
    }

    private static Set<String> setFrom(Map<String, Boolean> empty) {
        Set<String> set = Collections.newSetFromMap(empty);
        Collections.addAll(set, "b", "a");
        return set;
    }

    @ParameterizedTest
    @MethodSource("partsInAnOrder")
    void aMapOrASetThatKeepsAnOrderIsAText(Object value) {
        assertThat(fixture.names(shop, "text", value))
                .containsExactly(value instanceof List<?> list ? list.get(0).toString() : value.toString());
    }

    @Test
    void aMapWithAnOrderOfItsOwnIsAText() {
        Map<String, Integer> map = Map.of("b", 2, "a", 1);

        assertThat(fixture.names(shop, "text", new TreeMap<>(map))).containsExactly("{a=1, b=2}");
        assertThat(fixture.names(shop, "text", new EnumMap<>(Map.of(TimeUnit.DAYS, 2, TimeUnit.HOURS, 1))))
                .containsExactly("{HOURS=1, DAYS=2}");
        assertThat(fixture.names(shop, "text", List.of(new LinkedHashSet<>(List.of("b", "a")))))
                .containsExactly("[b, a]");
    }

    @SuppressWarnings("UnnecessaryStringBuilder") // A text of another type.
    static List<Object> textsOfUsers() {
        return List.of(
                "ann@cafe",
                "a.b@c.d",
                "user@1234",
                "[B@1f2e3d4",
                Tenant.class.getName() + "@1f2e3d4",
                new StringBuilder("user@1234"),
                URI.create("mailto:ann@cafe"),
                new Wrapper("ann@cafe"),
                new Wrapper("ann.lee@cafe.org"),
                new Wrapper("tenant@1234"),
                new Wrapper("@1234"),
                new Wrapper("java.lang.Object@home"),
                Map.of("user@1234", "ann@cafe"),
                Map.of("seats", List.of("B@12")),
                new AtomicReference<>("int@1234"));
    }

    @ParameterizedTest
    @MethodSource("textsOfUsers")
    void aTextOfTheUserThatLooksLikeAnObjectIsNoError(Object value) {
        assertThat(fixture.names(shop, "text", value)).containsExactly(value.toString());
    }

    @SuppressWarnings("JavaUtilDate") // It is what callers may have.
    static Stream<Object> dates() {
        return Stream.of(new Date(0), new Timestamp(0), new GregorianCalendar(), List.of(new Date(0)));
    }

    /** Machines in other time zones would lock another name. */
    @ParameterizedTest
    @MethodSource("dates")
    void aDateWhoseTextIsThatOfATimeZoneIsAnError(Object value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "text", value))
                .withMessageContaining("has a text in the time zone of the machine: name what has none, as in"
                        + " #date.toInstant(), or #date.toLocalDate() of java.sql.Date");
    }

    static Stream<Object> instants() {
        return Stream.of(
                Instant.EPOCH,
                LocalDate.EPOCH,
                LocalDateTime.MIN,
                ZonedDateTime.of(LocalDateTime.MIN, ZoneId.of("Europe/Berlin")),
                OffsetDateTime.MIN,
                ZoneId.of("Europe/Berlin"));
    }

    @ParameterizedTest
    @MethodSource("instants")
    void aTimeOrDateWithItsOwnZoneOrNoneIsAText(Object value) {
        assertThat(fixture.names(shop, "text", value)).containsExactly(value.toString());
    }

    @Test
    void anAnnotatedInterfaceMayUseItsOwnParameterNames() {
        assertThat(fixture.names(new RenamingPayments(), "pay", new Order("7"))).containsExactly("order:7");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "quoted | starts with a quote | Write order:#{#order.id()}!",
                "doubleQuoted | starts with a quote | Write order:#{#order.id}",
                "quotedWithCall | starts with a quote | Write #{'order:' + #order.id.replace('a', 'b')}",
                "outside | names a parameter outside | order:#{#order.id}",
                "outsideCall | names a parameter outside | order:#{#order.id()}!",
                "positionOutside | names a parameter outside | x#{#p0}",
                "rootOutside | names a parameter outside | #{#root.method}",
                "rootParameter | uses #root, which is not the parameter, but the call as a whole | Write #p1",
                "rootParameterInText | uses #root, which is not the parameter | Write #p0",
                "rootParameterInPath | but Root has no property 'id' | Write #p0",
                "rootAlone | uses #root, the call as a whole, whose text is another at each call | #root.args[0]",
                "rootAsArgument | uses #root, the call as a whole | #root.method.name",
                "rootAsThis | uses #this, the call as a whole | #root.args[0]",
                "unknown | uses #oder, which is no parameter | Known are: #order, #p0, #a0, #root",
                "unknownNested | uses #oder | Known are",
                "unknownInSelection | uses #oder | Known are",
                "bare | uses 'order' without '#' | Write #order",
                "bareCall | calls id(..) on nothing | @bean.id(..)",
                "function | calls a function | @bean.method(..)",
                "unknownBean | uses the bean 'tenant', which does not exist | name of a bean",
                "unknownType | uses T(java.lang.Mth), which is not on the class path | full name",
                "unreadable | cannot be read | #{...}",
                "blank | is blank | leave it out",
                "tooLong | at most 512 bytes | another name",
                "unresolved | cannot be resolved | default"
            })
    void aNameThatCannotWorkIsAFaultWithARemedy(String method, String problem, String remedy) {
        assertThat(fixture.faults(WrongNames.class, method)).singleElement().satisfies(fault -> {
            assertThat(fault.attribute()).isEqualTo("name");
            assertThat(fault.problem()).contains(problem);
            assertThat(fault.remedy()).contains(remedy);
        });
    }

    @ParameterizedTest
    @CsvSource({"selection", "projection", "elements", "indexed", "inlineMap", "arguments", "rootPaths"})
    void whatIsReadFromElementsAndMapsIsNoFault(String method) {
        assertThat(fixture.faults(Shop.class, method)).isEmpty();
    }

    @Test
    void primitivesHaveTheMethodsOfTheirWrappers() {
        assertThat(fixture.names(shop, "boxed", 7)).containsExactly("shard:7");
        assertThat(fixture.names(shop, "boxedResult", "lamp")).containsExactly("4");
        assertThat(fixture.names(shop, "boxedComponent", new Numbered(19))).containsExactly("3");
        assertThat(fixture.names(shop, "constant", Integer.class)).containsExactly("2147483647");
        assertThat(fixture.faults(WrongNames.class, "unboxed"))
                .singleElement()
                .satisfies(fault -> assertThat(fault.problem()).contains("Integer has no method 'nothing'"));
    }

    @Test
    void namesStayRightWhenExpressionsAreCompiled() {
        for (int i = 0; i < 300; i++) {
            assertThat(fixture.names(shop, "visible", new Visible("v" + i))).containsExactly("v:v" + i);
            assertThat(fixture.names(shop, "text", i % 2 == 0 ? "t" + i : (Object) i))
                    .containsExactly(i % 2 == 0 ? "t" + i : "" + i);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "visible", new Visible(null)))
                .withMessageContaining("is null");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fixture.names(shop, "visible", new Object[] {null}))
                .withMessageContaining("cannot be evaluated");
    }

    /** Compiled for integers, an expression would take the last 32 bits of the whole part of other numbers. */
    @ParameterizedTest
    @CsvSource({"shardOfMap, 3", "sum, 5000000008", "negative, -5000000003", "product, 15000000009:"})
    void arithmeticStaysRightWhenNumbersBecomeLongAfterManyCalls(String method, String expected) {
        for (int i = 0; i < 300; i++) {
            fixture.names(shop, method, Map.of("id", 3));
        }
        assertThat(fixture.names(shop, method, Map.of("id", 5_000_000_003L))).containsExactly(expected);
    }

    @Test
    void anExpressionThatCannotBeCompiledIsInterpretedAtEveryCall() {
        StringLiteral changing = new StringLiteral("'a'", 0, 3, "'a'") {
            @Override
            public void generateCode(MethodVisitor code, CodeFlow flow) {
                // As where another thread has evaluated it for other types meanwhile: the verifier refuses this.
                code.visitInsn(Opcodes.POP);
            }
        };
        SpelExpression expression = new SpelExpression("'a'", changing, new SpelParserConfiguration());
        LockNames.NamePart part = new LockNames.NamePart("#{'a'}", expression, "#{'a'}");
        LockNames.Root call =
                new LockNames.Root(SpecFixture.method(Shop.class, "unnamed"), new Object[0], shop, Shop.class);

        for (int i = 0; i < 300; i++) {
            assertThat(part.value(new StandardEvaluationContext(), call)).isEqualTo("a");
        }
    }

    @Test
    void expressionsInsideCollectionsAreEvaluated() {
        assertThat(fixture.names(shop, "selection", List.of(new Order("1"), new Order("2")), "2"))
                .containsExactly("2");
        assertThat(fixture.names(shop, "projection", List.of(new Order("1"), new Order("2"))))
                .containsExactly("1", "2");
        assertThat(fixture.names(shop, "indexed", Map.of("key", "v"))).containsExactly("v");
    }

    record Order(String id) {
        @Override
        public String toString() {
            return String.valueOf(id);
        }
    }

    public record Visible(String id) {}

    record Numbered(long id) {}

    record Wrapper(Object content) {}

    static class Tenant {}

    /** An object with the text that Spring's ToStringCreator gives it, for one. */
    static class Described {
        @Override
        public String toString() {
            return "[Described@" + ObjectUtils.getIdentityHexString(this) + " number = 7]";
        }
    }

    static class Tenants {
        public String current() {
            return "north";
        }
    }

    interface Payments {
        @DistributedLocked("order:#{#order.id}")
        void pay(Order order);
    }

    static class RenamingPayments implements Payments {
        @Override
        public void pay(Order toBePaid) {}
    }

    static class Shop {
        @DistributedLocked
        void unnamed() {}

        @DistributedLocked("queue#main")
        void plainWithHash(int number) {}

        @DistributedLocked("order:#{#order.id}")
        void byName(Order order) {}

        @DistributedLocked("#{#p0.id}-#{#a0.id()}")
        void byPosition(Order order) {}

        @DistributedLocked("#{#root.method.name}/#{#root.args[0]}/#{#root.targetClass.simpleName}")
        void byRoot(Order order) {}

        @DistributedLocked("#{@tenants.current()}:stock")
        void byBean(Order order) {}

        @DistributedLocked("${known.name}:#{#order.id}")
        void placeholder(Order order) {}

        @DistributedLocked("${unknown.name:west}:#{#order.id}")
        void fallbackPlaceholder(Order order) {}

        @DistributedLocked("#{#order != null ? (#order.id.length() > 0 ? 'yes' : 'no') : 'none'}")
        void nested(Order order) {}

        @DistributedLocked("#{'{' + #order.id + '}'}")
        void braces(Order order) {}

        @DistributedLocked("#{'#order' + #order.id + \"#order\"}")
        void quotedVariable(Order order) {}

        @DistributedLocked("#{#order = 'x'}")
        void assigning(Order order) {}

        @DistributedLocked("item:#{#items}")
        void items(List<String> items) {}

        @DistributedLocked("#{#numbers}")
        void array(int[] numbers) {}

        @DistributedLocked("#{#left}-#{#right}")
        void pairs(List<String> left, List<Integer> right) {}

        @DistributedLocked({"order:#{#order.id}", "stock"})
        void two(Order order) {}

        @DistributedLocked("#{#value}")
        void text(Object value) {}

        @DistributedLocked("#{#event['id'] % 10}")
        void shardOfMap(Map<String, Number> event) {}

        @DistributedLocked("#{5 + #event['id']}")
        void sum(Map<String, Number> event) {}

        @DistributedLocked("#{-#event['id']}")
        void negative(Map<String, Number> event) {}

        @DistributedLocked("#{(#event['id'] * 3).toString().concat(':')}")
        void product(Map<String, Number> event) {}

        @DistributedLocked("v:#{#value.id}")
        void visible(Visible value) {}

        @DistributedLocked("#{#value}")
        void optional(Optional<String> value) {}

        @DistributedLocked("#{#orders.?[id == #wanted and #this.id != null].![id]}")
        void selection(List<Order> orders, String wanted) {}

        @DistributedLocked("#{#orders.![id]}")
        void projection(List<Order> orders) {}

        @DistributedLocked("#{#orders.![#this.id]}-#{#orders.![@tenants.of(#this)]}")
        void elements(List<Order> orders) {}

        @DistributedLocked("#{#root.args[0]}/#{#root.method.name.concat(#root.args.length)}/#{#root?.targetClass.name}")
        void rootPaths(Order root) {}

        @DistributedLocked("#{#map[key]}")
        void indexed(Map<String, String> map) {}

        @DistributedLocked("#{{a: #order.id}['a']}")
        void inlineMap(Order order) {}

        @DistributedLocked("#{#order.id.concat(method.name)}")
        void arguments(Order order) {}

        @DistributedLocked("shard:#{#shard.toString()}")
        void boxed(int shard) {}

        @DistributedLocked("#{#name.length().toString()}")
        void boxedResult(String name) {}

        @DistributedLocked("#{#order.id.hashCode() % 16}")
        void boxedComponent(Numbered order) {}

        @DistributedLocked("#{#type.MAX_VALUE}")
        void constant(Class<?> type) {}
    }

    static class WrongNames {
        @DistributedLocked("#{#shard.nothing()}")
        void unboxed(int shard) {}

        @DistributedLocked("'order:' + #order.id() + '!'")
        void quoted(Order order) {}

        @DistributedLocked("'order:' + #order.id.replace('a', 'b')")
        void quotedWithCall(Order order) {}

        @DistributedLocked("\"order:\" + #{#order.id}")
        void doubleQuoted(Order order) {}

        @DistributedLocked("order:#order.id")
        void outside(Order order) {}

        @DistributedLocked("order:#order.id()!")
        void outsideCall(Order order) {}

        @DistributedLocked("x#p0")
        void positionOutside(Order order) {}

        @DistributedLocked("#root.method")
        void rootOutside() {}

        @DistributedLocked("tree:#{#root}")
        void rootParameter(int depth, String root) {}

        @DistributedLocked("#{'tree:' + #root}")
        void rootParameterInText(String root) {}

        @DistributedLocked("#{#root.id}")
        void rootParameterInPath(Order root) {}

        @DistributedLocked("tree:#{#root}")
        void rootAlone(String branch) {}

        @DistributedLocked("tree:#{#branch.concat(#root)}")
        void rootAsArgument(String branch) {}

        @DistributedLocked("tree:#{#this}")
        void rootAsThis(String branch) {}

        @DistributedLocked("order:#{#oder.id}")
        void unknown(Order order) {}

        @DistributedLocked("#{#order.id.concat(#order.id + (#oder ?: 'x'))}")
        void unknownNested(Order order) {}

        @DistributedLocked("#{#orders.?[id == #oder]}")
        void unknownInSelection(List<Order> orders) {}

        @DistributedLocked("#{order.id}")
        void bare(Order order) {}

        @DistributedLocked("#{id()}")
        void bareCall(Order order) {}

        @DistributedLocked("#{#lower(#order.id)}")
        void function(Order order) {}

        @DistributedLocked("#{@tenant.current()}")
        void unknownBean() {}

        @DistributedLocked("#{T(java.lang.Mth).abs(1)}")
        void unknownType() {}

        @DistributedLocked("order:#{#order.id")
        void unreadable(Order order) {}

        @DistributedLocked(" ")
        void blank() {}

        @DistributedLocked(
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                        + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                        + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                        + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                        + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                        + "aaaaaaaaaaaaaaa")
        void tooLong() {}

        @DistributedLocked("${unknown.name}")
        void unresolved() {}
    }
}
