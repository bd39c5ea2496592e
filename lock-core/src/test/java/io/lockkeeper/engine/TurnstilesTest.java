/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/** Callers go through one at a time, in the order in which they came. */
class TurnstilesTest {

    private final Turnstiles turnstiles = new Turnstiles();
    private final List<String> entered = new ArrayList<>();

    @Test
    void theFirstCallerIsLetInAtOnceAndTheOthersInTheirOrder() {
        Turnstiles.Turn first = enters("stock", "first");
        Turnstiles.Turn second = enters("stock", "second");
        enters("stock", "third");
        assertThat(entered).containsExactly("first");

        first.leave(Runnable::run);
        assertThat(entered).containsExactly("first", "second");
        second.leave(Runnable::run);

        assertThat(entered).containsExactly("first", "second", "third");
    }

    @Test
    void onlyTheFirstLeaveCounts() {
        Turnstiles.Turn first = enters("stock", "first");
        enters("stock", "second");
        enters("stock", "third");

        first.leave(Runnable::run);
        first.leave(Runnable::run);

        assertThat(entered).containsExactly("first", "second");
    }

    @Test
    void callersOfDifferentNamesDoNotWaitForEachOther() {
        enters("stock", "first");
        enters("orders", "second");

        assertThat(entered).containsExactly("first", "second");
    }

    @Test
    void theNextCallerIsLetInWhereTheLeavingOneSays() {
        Queue<Runnable> elsewhere = new ArrayDeque<>();
        Turnstiles.Turn first = enters("stock", "first");
        enters("stock", "second");

        first.leave(elsewhere::add);
        assertThat(entered).containsExactly("first");

        elsewhere.remove().run();
        assertThat(entered).containsExactly("first", "second");
    }

    @Test
    void nothingIsKeptOfANameThroughWhichNobodyGoes() {
        Turnstiles.Turn first = enters("stock", "first");
        Turnstiles.Turn second = enters("stock", "second");
        assertThat(turnstiles.size()).isEqualTo(1);

        first.leave(Runnable::run);
        second.leave(Runnable::run);

        assertThat(turnstiles.size()).isZero();
    }

    private Turnstiles.Turn enters(String name, String caller) {
        Turnstiles.Turn turn = turnstiles.turn(name);
        turn.enter(() -> entered.add(caller));
        return turn;
    }
}
