/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.RedisServer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** A release while other instances wait for the lock: {@code --releases} for each number of instances. */
final class ReleaseScale {

    private static final List<String> READS = List.of("hget", "hmget");
    private static final List<String> WRITES = List.of("hset", "hdel");
    private static final List<String> INNER =
            List.of("hget", "hmget", "hset", "hdel", "publish", "pexpire", "time", "exists");
    private static final int WARM = 50;

    private ReleaseScale() {}

    static void measure(Settings settings, Table table) {
        int releases = settings.number("--releases", 200);
        table.begin(
                "release with waiting instances",
                "Redis' time for the script of a release that hands the lock over, medians of " + releases
                        + "; of it: reading the record, writing it, PUBLISH, and what is left for the script itself (Lua:"
                        + " and the replies of commands). The waiters are attempts in the lock's queue, up to 1,000 of them with"
                        + " a client id and a subscribed connection each; commands go through one store of the library."
                        + " Beside it the scripts of one that joins the queue's end, of a sign of life, and of a status.",
                "waiters",
                "release, Redis us",
                "of it reading",
                "writing",
                "PUBLISH",
                "script itself",
                "messages",
                "answer, us",
                "next knows, us",
                "joining, Redis us",
                "sign of life, Redis us",
                "status, Redis us");
        for (int instances : settings.numbers("--instances", "0,10,100,250,600,10000")) {
            try (RedisServer redis = RedisServer.start();
                    WaitingInstances waiting = new WaitingInstances(redis, instances)) {
                row(redis, waiting, instances, releases, table);
            }
        }
        table.plot();
    }

    private static void row(RedisServer redis, WaitingInstances waiting, int instances, int releases, Table table) {
        List<ServerFigures> released = new ArrayList<>();
        List<ServerFigures> joined = new ArrayList<>();
        List<ServerFigures> polled = new ArrayList<>();
        List<ServerFigures> looked = new ArrayList<>();
        List<long[]> times = new ArrayList<>();
        for (int i = -WARM; i < releases; i++) {
            ServerFigures before = ServerFigures.of(redis);
            long[] time = waiting.release();
            ServerFigures free = ServerFigures.of(redis);
            waiting.askAgain();
            ServerFigures asked = ServerFigures.of(redis);
            waiting.poll();
            ServerFigures told = ServerFigures.of(redis);
            waiting.look();
            if (i >= 0) {
                times.add(time);
                released.add(free.since(before));
                joined.add(asked.since(free));
                polled.add(told.since(asked));
                looked.add(ServerFigures.of(redis).since(told));
            }
        }
        table.row(
                String.format("%,d", instances),
                true,
                median(released, one -> one.scripts().micros()),
                median(released, one -> micros(one, READS)),
                median(released, one -> micros(one, WRITES)),
                median(released, one -> one.command("publish").micros()),
                median(released, one -> one.scripts().micros() - micros(one, INNER)),
                released.stream()
                                .mapToLong(one -> one.command("publish").calls())
                                .sum()
                        / (double) releases,
                median(times, one -> one[0] / 1e3),
                instances == 0 ? Double.NaN : median(times, one -> one[1] / 1e3),
                median(joined, one -> one.scripts().micros()),
                instances == 0
                        ? Double.NaN
                        : median(polled, one -> one.scripts().micros()),
                median(looked, one -> one.scripts().micros()));
    }

    private static double micros(ServerFigures figures, List<String> commands) {
        return commands.stream()
                .mapToLong(name -> figures.command(name).micros())
                .sum();
    }

    private static <T> double median(List<T> all, ToDoubleFunction<T> figure) {
        double[] sorted = all.stream().mapToDouble(figure).toArray();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
