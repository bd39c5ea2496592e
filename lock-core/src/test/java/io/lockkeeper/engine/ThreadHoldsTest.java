/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.ReleaseResult;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The levels of a thread's hold: who ends what, and what is left of a hold that is over. */
class ThreadHoldsTest {

    private final CohortFixture fixture = new CohortFixture();
    private final ThreadHolds holds = new ThreadHolds(lease -> lease);
    private final HeldLease lease = fixture.holds(100);

    @Test
    void anInnerLevelEndsOnlyItself() {
        LevelLease outer = enter();
        LevelLease inner = enter();
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(2);

        assertThat(inner.release()).isEqualTo(ReleaseResult.RELEASED);

        assertThat(inner.isHeld()).isFalse();
        assertThat(outer.isHeld()).isTrue();
        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
        assertThat(fixture.port.releases).isEmpty();
    }

    @Test
    void theOutermostLevelEndsTheHold() {
        enter().release();

        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.port.releases).hasSize(1);
        assertThat(holds.find("stock")).isNull();
        assertThat(holds.isEmpty()).isTrue();
    }

    @Test
    void levelsMayEndInAnyOrder() {
        LevelLease outer = enter();
        LevelLease inner = enter();

        outer.close();
        assertThat(inner.isHeld()).isTrue();
        inner.close();

        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void unlockEndsOnlyLevelsThatLockEntered() {
        enter();
        assertThat(holds.relock(CohortFixture.REQUEST)).isTrue();

        assertThat(holds.find("stock").unlock(LockMode.EXCLUSIVE)).isTrue();
        assertThat(holds.find("stock").unlock(LockMode.EXCLUSIVE)).isFalse();
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
        assertThat(lease.isHeld()).isTrue();
    }

    @Test
    void anotherThreadMayEndALevel() {
        LevelLease outer = enter();
        LevelLease inner = enter();

        onAnotherThread(inner::close);
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
        onAnotherThread(outer::close);

        assertThat(lease.isHeld()).isFalse();
        assertThat(holds.find("stock")).isNull();
        assertThat(holds.lease("stock", LockMode.EXCLUSIVE)).isEmpty();
    }

    @Test
    void aNameThatAnotherThreadReleasedCanBeHeldAgain() {
        LevelLease level = enter();
        onAnotherThread(level::close);

        HeldLease again = new CohortFixture().holds(200);
        enter(again);

        assertThat(holds.lease("stock", LockMode.EXCLUSIVE)).contains(again);
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
    }

    @Test
    void aThreadSeesOnlyWhatItHolds() {
        enter();

        onAnotherThread(() -> {
            assertThat(holds.find("stock")).isNull();
            assertThat(holds.isEmpty()).isTrue();
        });
        assertThat(holds.isEmpty()).isFalse();
    }

    @Test
    void everyLevelOfALostHoldReportsTheLoss() {
        LevelLease outer = enter();
        LevelLease inner = enter();
        fixture.leases.lose(lease.tenure(), "the store says that it ended");

        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(outer.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(holds.isEmpty()).isTrue();
    }

    @Test
    void aLostHoldStaysTheThreadsHoldUntilItsLastLevelEnds() {
        LevelLease level = enter();
        fixture.leases.lose(lease.tenure(), "the store says that it ended");

        assertThat(holds.find("stock").lease()).isSameAs(lease);
        assertThatThrownBy(this::enter).isInstanceOf(LockLostException.class);

        level.close();
        assertThat(holds.find("stock")).isNull();
    }

    @Test
    void aLeaseOfItsOwnIsRefusedToTheThreadThatHoldsTheName() {
        enter();

        assertThatIllegalStateException()
                .isThrownBy(() -> holds.refuseHeld(CohortFixture.REQUEST))
                .withMessageContaining("'stock'");
        onAnotherThread(() -> holds.refuseHeld(CohortFixture.REQUEST));
    }

    @Test
    void aLevelGoesOnWithoutTheThreadThatLeavesIt() {
        LevelLease level = holds.begin(lease, CohortFixture.REQUEST);
        assertThat(holds.isEmpty()).isTrue();

        Runnable leave = level.enterThread();
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
        leave.run();

        assertThat(holds.isEmpty()).isTrue();
        assertThat(level.isHeld()).isTrue();
        onAnotherThread(level::close);
        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void aLevelOfNoThreadOutlivesTheThreadsOwn() {
        LevelLease own = enter();
        LevelLease stage = again(List.of());

        own.close();

        assertThat(holds.isEmpty()).isTrue();
        assertThat(stage.isHeld()).isTrue();
        stage.close();
        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void whatLeasesAroundTheCallerHoldIsEnteredAgain() {
        LevelLease outer = holds.begin(lease, CohortFixture.REQUEST);

        onAnotherThread(() -> {
            LevelLease inner = again(List.of(outer));
            assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
            outer.close();
            assertThat(inner.isHeld()).isTrue();
            inner.close();
        });

        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void whatIsOverOrOfAnotherEngineIsNotEnteredAgain() {
        LevelLease over = holds.begin(lease, CohortFixture.REQUEST);
        over.close();
        LevelLease foreign = new ThreadHolds(same -> same).begin(new CohortFixture().holds(200), CohortFixture.REQUEST);

        assertThat(holds.reenter(CohortFixture.REQUEST, List.of(over, foreign))).isEmpty();
        assertThat(holds.isInside(List.of(over, foreign))).isFalse();
    }

    private LevelLease enter() {
        return enter(lease);
    }

    private LevelLease enter(HeldLease first) {
        List<LevelLease> again = holds.reenter(CohortFixture.REQUEST, List.of());
        LevelLease level = again.isEmpty() ? holds.begin(first, CohortFixture.REQUEST) : again.get(0);
        level.bindToThread();
        return level;
    }

    private LevelLease again(List<LevelLease> enclosing) {
        return holds.reenter(CohortFixture.REQUEST, enclosing).get(0);
    }

    private static void onAnotherThread(Runnable work) {
        CompletableFuture.runAsync(work).join();
    }
}
