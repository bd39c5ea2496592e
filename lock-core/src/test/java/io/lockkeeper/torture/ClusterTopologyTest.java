/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("topology")
class ClusterTopologyTest {

    @Test
    void slotsMoveUntilEachNameHasBeenOnAllMasters() {
        int names = 2;
        try (ClusterTopology topology = new ClusterTopology(names)) {
            Random random = new Random(1);
            Set<String> places = new HashSet<>();
            for (int name = 0; name < names; name++) {
                places.add(place(topology, name));
            }
            for (int moves = 2 * names; moves > 0; moves--) {
                assertThat(topology.disasters()).contains(Disaster.SLOT_MOVES);
                topology.suffer(Disaster.SLOT_MOVES, Duration.ZERO, random);
                for (int name = 0; name < names; name++) {
                    places.add(place(topology, name));
                }
            }
            assertThat(places).hasSize(3 * names);
            assertThat(topology.disasters()).doesNotContain(Disaster.SLOT_MOVES);
        }
    }

    /** Which master has the slot of a name. */
    private static String place(ClusterTopology topology, int name) {
        RedisServer master = topology.masterOf("lockkeeper:lock:torture-" + name);
        return name + " " + master.port();
    }
}
