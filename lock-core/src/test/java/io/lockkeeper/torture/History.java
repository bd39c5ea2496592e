/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What all workers have seen. */
final class History {

    private final Map<String, Hold> holds = new HashMap<>();
    private final List<Window> stalls = new ArrayList<>();

    /** Reads the files of a folder. A line that a killed worker has not finished does not count. */
    static History of(Path folder) {
        History history = new History();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.sorted().toList()) {
                history.read(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return history;
    }

    private void read(Path file) throws IOException {
        String text = Files.readString(file, StandardCharsets.UTF_8);
        text.substring(0, text.lastIndexOf('\n') + 1).lines().map(Event::parse).forEach(this::add);
    }

    void add(Event event) {
        switch (event.kind()) {
            case ASKED -> holds.put(event.id(), new Hold(event));
            case STALLED -> stalls.add(new Window(event.number("since"), event.nanos(), event.worker(), "STALLED"));
            default -> {
                Hold hold = holds.get(event.id());
                if (hold == null) {
                    throw new IllegalArgumentException("Nobody asked: " + event.line());
                }
                hold.take(event);
            }
        }
    }

    Collection<Hold> holds() {
        return holds.values();
    }

    /** The workers that had no lease from a moment on. */
    List<String> workersWithoutLease(int workers, long from) {
        return IntStream.range(0, workers)
                .mapToObj(WorkerProcess::name)
                .filter(name -> holds.values().stream()
                        .noneMatch(hold -> hold.isHeld() && hold.worker.equals(name) && hold.start() >= from))
                .toList();
    }

    /** When workers did not run, for whatever reason. */
    List<Window> stalls() {
        return stalls;
    }
}
