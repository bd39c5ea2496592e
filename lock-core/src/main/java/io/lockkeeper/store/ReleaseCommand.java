/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.util.List;

/**
 * Ends whatever an attempt has: its holds, and its place in a queue. Repeating the command is harmless.
 *
 * @param names the locks' names
 * @param attempt the attempt that ends
 * @param lastToken the last of its reserved fencing tokens of the first lock that was really used; 0: keep what is
 *     reserved
 * @param keepMillis how long locks that it held stay taken from now on; 0: they are free at once
 * @param waitNanos how long the calling thread waits, as in {@link AcquireCommand}
 */
public record ReleaseCommand(List<String> names, String attempt, long lastToken, long keepMillis, long waitNanos) {

    /** Ends what an attempt has on a thread that does not wait. */
    public ReleaseCommand(List<String> names, String attempt, long lastToken, long keepMillis) {
        this(names, attempt, lastToken, keepMillis, 0);
    }

    /** Returns this command for a thread that waits for so long. */
    public ReleaseCommand awaited(long nanos) {
        return new ReleaseCommand(names, attempt, lastToken, keepMillis, nanos);
    }
}
