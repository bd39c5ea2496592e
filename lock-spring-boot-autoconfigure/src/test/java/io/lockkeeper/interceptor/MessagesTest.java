/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is said of a mistake, to the letter. */
class MessagesTest {

    private final SpecFixture fixture = new SpecFixture();

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "property | #{#order.idd} uses #order.idd, but Order has no property 'idd', did you mean id?"
                        + " | Write the name of a property of Order",
                "position | #{#p0.ident} uses #p0.ident, but Order has no property 'ident'"
                        + " | Write the name of a property of Order",
                "nested | #{#order.buyer.nam} uses #order.buyer.nam, but Buyer has no property 'nam', did you mean name?"
                        + " | Write the name of a property of Buyer",
                "method | #{#order.idd()} uses #order.idd(), but Order has no method 'idd', did you mean id?"
                        + " | Write the name of a method of Order",
                "text | #{#text.lenght()} uses #text.lenght(), but String has no method 'lenght', did you mean length?"
                        + " | Write the name of a method of String",
                "nullSafe | #{#order?.idd} uses #order?.idd, but Order has no property 'idd', did you mean id?"
                        + " | Write the name of a property of Order",
                "element | #{#orders[0].idd} uses #orders[0].idd, but Order has no property 'idd', did you mean id?"
                        + " | Write the name of a property of Order",
                "value | #{#orders['a'].buyer.nam} uses #orders['a'].buyer.nam, but Buyer has no property 'nam', did you"
                        + " mean name? | Write the name of a property of Buyer",
                "root | #{#root.methd.name} uses #root.methd.name, but Root has no property 'methd', did you mean method?"
                        + " | Write #root.method, #root.args, #root.target or #root.targetClass,"
                        + " as in #root.method.name",
                "rootOfCaches | #{#root.methodName} uses #root.methodName, but Root has no property 'methodName'"
                        + " | Write #root.method, #root.args, #root.target or #root.targetClass,"
                        + " as in #root.method.name"
            })
    void aMisspeltPartOfAKnownTypeIsFoundAtTheStart(String method, String problem, String remedy) {
        assertThat(fixture.faults(Paths.class, method)).singleElement().satisfies(fault -> {
            assertThat(fault.attribute()).isEqualTo("name");
            assertThat(fault.problem()).isEqualTo(problem);
            assertThat(fault.remedy()).isEqualTo(remedy);
        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "right",
                "getter",
                "field",
                "open",
                "optional",
                "generic",
                "array",
                "elements",
                "ofTheCall",
                "selection",
                "className",
                "kind"
            })
    void whatATypeHasOrASubtypeMayHaveIsNoFault(String method) {
        assertThat(fixture.faults(Paths.class, method)).isEmpty();
    }

    @Test
    void anIslandWithoutItsHashIsAdvisedWithIt() {
        assertThat(fixture.faults(Paths.class, "hashForgotten"))
                .singleElement()
                .satisfies(fault -> assertThat(fault.remedy()).isEqualTo("Write order:#{#order.id}"));
        assertThat(fixture.faults(Paths.class, "hashForgottenTwice"))
                .singleElement()
                .satisfies(fault -> assertThat(fault.remedy()).isEqualTo("Write #{#order.id}:#{#order.buyer.name}!"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "blanks | Write order:#{#order.id}",
                "noParameter | Write order:#{#ordr.id}",
                "index | Write order:#{#orders[0].id}",
                "bareIndex | Write order:#{#orders[0].id}",
                "arguments | Write order:#{#text.substring(0, 2)}",
                "dollar | Write order:#{#order.id}"
            })
    void theWholePathIsAdvisedAsAnIsland(String method, String remedy) {
        assertThat(fixture.faults(Paths.class, method)).singleElement().satisfies(fault -> assertThat(fault.remedy())
                .isEqualTo(remedy));
    }

    @Test
    void aMisspeltFallbackIsAnsweredWithTheRightOne() {
        assertThat(fixture.faults(Paths.class, "misspelt")).singleElement().satisfies(fault -> {
            assertThat(fault.problem())
                    .isEqualTo("there is no method 'bussy' in Paths or above it, did you mean busy?");
            assertThat(fault.toString()).contains("did you mean busy? Write one of: ");
        });
        assertThat(fixture.faults(Paths.class, "unlike")).singleElement().satisfies(fault -> assertThat(fault.problem())
                .isEqualTo("there is no method 'nowhere' in Paths or above it"));
    }

    @Test
    void aDurationWithoutAUnitIsAnsweredWithBoth() {
        assertThat(fixture.faults(Paths.class, "unit")).singleElement().satisfies(fault -> {
            assertThat(fault.problem()).isEqualTo("'30' has no unit");
            assertThat(fault.remedy()).isEqualTo("Write 30ms for milliseconds or 30s for seconds");
        });
    }

    @Test
    void aDurationThatIsTooShortIsAnsweredWithWhatItsAbsenceMeans() {
        assertThat(fixture.faults(Paths.class, "shortTimes"))
                .extracting(DistributedLockedFault::remedy)
                .containsExactlyInAnyOrder(
                        "Write 100ms or more, or leave it out: the lease is then renewed until the method ends",
                        "Write 1ms or more, or leave it out: lockkeeper.retry-delay is then waited");
    }

    @Test
    void selfInvocationIsNamed() {
        assertThatIllegalStateException()
                .isThrownBy(LockContext::require)
                .withMessageContaining(
                        "The usual cause is self-invocation: a method with @DistributedLocked was called by"
                                + " another method of the same bean, so that the call did not pass through the bean's proxy.");
    }

    enum Kind {
        SALE
    }

    record Buyer(String name) {}

    record Order(String id, Buyer buyer, List<Buyer> others, Kind kind) {}

    static final class Invoice {
        public final String number = "1";

        public String getPayer() {
            return "payer";
        }
    }

    static class Extensible {}

    @SuppressWarnings("unused")
    static class Paths {
        @DistributedLocked("#{#order.idd}")
        void property(Order order) {}

        @DistributedLocked("#{#p0.ident}")
        void position(Order order) {}

        @DistributedLocked("#{#order.buyer.nam}")
        void nested(Order order) {}

        @DistributedLocked("#{#order.idd()}")
        void method(Order order) {}

        @DistributedLocked("#{#text.lenght()}")
        void text(String text) {}

        @DistributedLocked("#{#order?.idd}")
        void nullSafe(Order order) {}

        @DistributedLocked("#{#orders[0].idd}")
        void element(List<Order> orders) {}

        @DistributedLocked("#{#orders['a'].buyer.nam}")
        void value(Map<String, Order> orders) {}

        @DistributedLocked("#{#root.methd.name}")
        void root() {}

        @DistributedLocked("#{#root.methodName}")
        void rootOfCaches() {}

        @DistributedLocked(
                "#{#raw[0].anything}-#{#any['a'].anything}-#{#open[0].anything}-#{#text[0]}-#{#orders[0].id}")
        void elements(List<?> raw, Map<String, ?> any, Extensible[] open, String text, Order[] orders) {}

        @DistributedLocked(
                "#{#root.args[0].anything}-#{#root.method.name}-#{#root.targetClass.simpleName}-#{#root.target.a}")
        void ofTheCall(Extensible argument) {}

        @DistributedLocked("order:{#ordr.id}")
        void noParameter(Order order) {}

        @DistributedLocked("order:{ #order.id }")
        void blanks(Order order) {}

        @DistributedLocked("order:{#orders[0].id}")
        void index(List<Order> orders) {}

        @DistributedLocked("order:#orders[0].id")
        void bareIndex(List<Order> orders) {}

        @DistributedLocked("order:{#text.substring(0, 2)}")
        void arguments(String text) {}

        @DistributedLocked("order:${#order.id}")
        void dollar(Order order) {}

        @DistributedLocked("#{#order.id}-#{#order.buyer.name()}-#{#order.id.length()}")
        void right(Order order) {}

        @DistributedLocked("#{#invoice.payer}")
        void getter(Invoice invoice) {}

        @DistributedLocked("#{#invoice.number}")
        void field(Invoice invoice) {}

        @DistributedLocked("#{#other.anything}")
        void open(Extensible other) {}

        @DistributedLocked("#{#order?.id}")
        void optional(Optional<Order> order) {}

        @DistributedLocked("#{#order.get().anything}")
        void generic(Optional<Extensible> order) {}

        @DistributedLocked("#{#orders.length}")
        void array(Order[] orders) {}

        @DistributedLocked("#{#order.others.![name]}")
        void selection(Order order) {}

        @DistributedLocked("#{#type.simpleName}")
        void className(Class<?> type) {}

        @DistributedLocked("#{#order.kind.name()}")
        void kind(Order order) {}

        @DistributedLocked("order:{#order.id}")
        void hashForgotten(Order order) {}

        @DistributedLocked("{#order.id}:{#order.buyer.name}!")
        void hashForgottenTwice(Order order) {}

        @DistributedLocked(fallbackMethod = "bussy")
        void misspelt() {}

        @DistributedLocked(fallbackMethod = "nowhere")
        void unlike() {}

        @DistributedLocked(leaseTime = "30")
        void unit() {}

        @DistributedLocked(leaseTime = "10ms", retryDelay = "1ns")
        void shortTimes() {}

        void busy() {}
    }
}
