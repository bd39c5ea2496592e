package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLostException;
import io.lockkeeper.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The levels of a thread's hold: who ends what, and what is left of a hold that is over. */
class ThreadHoldsTest {

    private final CohortFixture fixture = new CohortFixture();
    private final ThreadHolds holds = new ThreadHolds();
    private final HeldLease lease = fixture.holds(100);
    private final ThreadHold hold = holds.add(lease);

    @Test
    void anInnerLevelEndsOnlyItself() {
        LevelLease outer = hold.enter();
        LevelLease inner = hold.enter();
        assertThat(holds.levels("stock")).isEqualTo(2);

        assertThat(inner.release()).isEqualTo(ReleaseResult.RELEASED);

        assertThat(inner.isHeld()).isFalse();
        assertThat(outer.isHeld()).isTrue();
        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        assertThat(holds.levels("stock")).isEqualTo(1);
        assertThat(fixture.port.releases).isEmpty();
    }

    @Test
    void theOutermostLevelEndsTheHold() {
        hold.enter().release();

        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.port.releases).hasSize(1);
        assertThat(holds.find("stock")).isNull();
        assertThat(holds.isEmpty()).isTrue();
    }

    @Test
    void levelsMayEndInAnyOrder() {
        LevelLease outer = hold.enter();
        LevelLease inner = hold.enter();

        outer.close();
        assertThat(inner.isHeld()).isTrue();
        inner.close();

        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void unlockEndsOnlyLevelsThatLockEntered() {
        hold.enter();
        hold.lock();

        assertThat(hold.unlock()).isTrue();
        assertThat(hold.unlock()).isFalse();
        assertThat(holds.levels("stock")).isEqualTo(1);
        assertThat(lease.isHeld()).isTrue();
    }

    @Test
    void anotherThreadMayEndALevel() {
        LevelLease outer = hold.enter();
        LevelLease inner = hold.enter();

        onAnotherThread(inner::close);
        assertThat(holds.levels("stock")).isEqualTo(1);
        onAnotherThread(outer::close);

        assertThat(lease.isHeld()).isFalse();
        assertThat(holds.find("stock")).isNull();
        assertThat(holds.lease("stock")).isEmpty();
    }

    @Test
    void aNameThatAnotherThreadReleasedCanBeHeldAgain() {
        LevelLease level = hold.enter();
        onAnotherThread(level::close);

        HeldLease again = new CohortFixture().holds(200);
        holds.add(again).enter();

        assertThat(holds.lease("stock")).contains(again);
        assertThat(holds.levels("stock")).isEqualTo(1);
    }

    @Test
    void aThreadSeesOnlyWhatItHolds() {
        hold.enter();

        onAnotherThread(() -> {
            assertThat(holds.find("stock")).isNull();
            assertThat(holds.isEmpty()).isTrue();
        });
        assertThat(holds.isEmpty()).isFalse();
    }

    @Test
    void everyLevelOfALostHoldReportsTheLoss() {
        LevelLease outer = hold.enter();
        LevelLease inner = hold.enter();
        fixture.leases.lose(lease.tenure(), "the store says that it ended");

        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(outer.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(holds.isEmpty()).isTrue();
    }

    @Test
    void aLostHoldStaysTheThreadsHoldUntilItsLastLevelEnds() {
        LevelLease level = hold.enter();
        fixture.leases.lose(lease.tenure(), "the store says that it ended");

        assertThat(holds.find("stock")).isSameAs(hold);
        assertThatThrownBy(() -> hold.lease().ensureHeld()).isInstanceOf(LockLostException.class);

        level.close();
        assertThat(holds.find("stock")).isNull();
    }

    @Test
    void aLeaseOfItsOwnIsRefusedToTheThreadThatHoldsTheName() {
        hold.enter();

        assertThatIllegalStateException()
                .isThrownBy(() -> holds.refuseHeld(CohortFixture.REQUEST))
                .withMessageContaining("'stock'");
        onAnotherThread(() -> holds.refuseHeld(CohortFixture.REQUEST));
    }

    private static void onAnotherThread(Runnable work) {
        CompletableFuture.runAsync(work).join();
    }
}
