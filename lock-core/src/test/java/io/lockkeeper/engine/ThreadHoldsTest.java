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

    private static final List<String> NAMES = List.of("stock");

    private final CohortFixture fixture = new CohortFixture();
    private final ThreadHolds holds = new ThreadHolds(lease -> lease);
    private final HeldLease lease = fixture.holds(100);
    private final ThreadHold hold = holds.add(lease);

    @Test
    void anInnerLevelEndsOnlyItself() {
        LevelLease outer = hold.enter(LockMode.EXCLUSIVE, NAMES);
        LevelLease inner = hold.enter(LockMode.EXCLUSIVE, NAMES);
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
        hold.enter(LockMode.EXCLUSIVE, NAMES).release();

        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.port.releases).hasSize(1);
        assertThat(holds.find("stock")).isNull();
        assertThat(holds.isEmpty()).isTrue();
    }

    @Test
    void levelsMayEndInAnyOrder() {
        LevelLease outer = hold.enter(LockMode.EXCLUSIVE, NAMES);
        LevelLease inner = hold.enter(LockMode.EXCLUSIVE, NAMES);

        outer.close();
        assertThat(inner.isHeld()).isTrue();
        inner.close();

        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void unlockEndsOnlyLevelsThatLockEntered() {
        hold.enter(LockMode.EXCLUSIVE, NAMES);
        hold.lock(LockMode.EXCLUSIVE);

        assertThat(hold.unlock(LockMode.EXCLUSIVE)).isTrue();
        assertThat(hold.unlock(LockMode.EXCLUSIVE)).isFalse();
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
        assertThat(lease.isHeld()).isTrue();
    }

    @Test
    void anotherThreadMayEndALevel() {
        LevelLease outer = hold.enter(LockMode.EXCLUSIVE, NAMES);
        LevelLease inner = hold.enter(LockMode.EXCLUSIVE, NAMES);

        onAnotherThread(inner::close);
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
        onAnotherThread(outer::close);

        assertThat(lease.isHeld()).isFalse();
        assertThat(holds.find("stock")).isNull();
        assertThat(holds.lease("stock", LockMode.EXCLUSIVE)).isEmpty();
    }

    @Test
    void aNameThatAnotherThreadReleasedCanBeHeldAgain() {
        LevelLease level = hold.enter(LockMode.EXCLUSIVE, NAMES);
        onAnotherThread(level::close);

        HeldLease again = new CohortFixture().holds(200);
        holds.add(again).enter(LockMode.EXCLUSIVE, NAMES);

        assertThat(holds.lease("stock", LockMode.EXCLUSIVE)).contains(again);
        assertThat(holds.levels("stock", LockMode.EXCLUSIVE)).isEqualTo(1);
    }

    @Test
    void aThreadSeesOnlyWhatItHolds() {
        hold.enter(LockMode.EXCLUSIVE, NAMES);

        onAnotherThread(() -> {
            assertThat(holds.find("stock")).isNull();
            assertThat(holds.isEmpty()).isTrue();
        });
        assertThat(holds.isEmpty()).isFalse();
    }

    @Test
    void everyLevelOfALostHoldReportsTheLoss() {
        LevelLease outer = hold.enter(LockMode.EXCLUSIVE, NAMES);
        LevelLease inner = hold.enter(LockMode.EXCLUSIVE, NAMES);
        fixture.leases.lose(lease.tenure(), "the store says that it ended");

        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(outer.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(holds.isEmpty()).isTrue();
    }

    @Test
    void aLostHoldStaysTheThreadsHoldUntilItsLastLevelEnds() {
        LevelLease level = hold.enter(LockMode.EXCLUSIVE, NAMES);
        fixture.leases.lose(lease.tenure(), "the store says that it ended");

        assertThat(holds.find("stock")).isSameAs(hold);
        assertThatThrownBy(() -> hold.lease().ensureHeld()).isInstanceOf(LockLostException.class);

        level.close();
        assertThat(holds.find("stock")).isNull();
    }

    @Test
    void aLeaseOfItsOwnIsRefusedToTheThreadThatHoldsTheName() {
        hold.enter(LockMode.EXCLUSIVE, NAMES);

        assertThatIllegalStateException()
                .isThrownBy(() -> holds.refuseHeld(CohortFixture.REQUEST))
                .withMessageContaining("'stock'");
        onAnotherThread(() -> holds.refuseHeld(CohortFixture.REQUEST));
    }

    private static void onAnotherThread(Runnable work) {
        CompletableFuture.runAsync(work).join();
    }
}
