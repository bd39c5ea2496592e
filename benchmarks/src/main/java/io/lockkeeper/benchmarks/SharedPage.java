/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Memory that all processes of a measurement share, outside Redis: who is in the section, how often two were, and when
 * it was left last. {@link System#nanoTime()} is one clock for all processes of a machine here.
 */
final class SharedPage {

    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int SIZE = 64;
    private static final int INSIDE = 0;
    private static final int OVERLAPS = 8;
    private static final int LEFT_AT = 16;
    private static final int LEFT_BY = 24;

    private final ByteBuffer page;
    private final long self = ProcessHandle.current().pid();

    SharedPage(Path file) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
            page = channel.map(MapMode.READ_WRITE, 0, SIZE);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    void clear() {
        for (int i = 0; i < SIZE; i += Long.BYTES) {
            LONGS.setVolatile(page, i, 0L);
        }
    }

    /**
     * Enters the section.
     *
     * @return how long ago another process left it, in ns; -1 where it was this one
     */
    long enter() {
        long now = System.nanoTime();
        if ((long) LONGS.getAndAdd(page, INSIDE, 1L) != 0) {
            LONGS.getAndAdd(page, OVERLAPS, 1L);
        }
        long by = (long) LONGS.getVolatile(page, LEFT_BY);
        return by == 0 || by == self ? -1 : now - (long) LONGS.getVolatile(page, LEFT_AT);
    }

    void leave() {
        LONGS.setVolatile(page, LEFT_BY, self);
        LONGS.setVolatile(page, LEFT_AT, System.nanoTime());
        LONGS.getAndAdd(page, INSIDE, -1L);
    }

    long overlaps() {
        return (long) LONGS.getVolatile(page, OVERLAPS);
    }
}
