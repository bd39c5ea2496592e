/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** One connection to one server. Used by one thread at a time. */
interface OwnConnection extends AutoCloseable {

    /**
     * Sends commands together, in this order, and waits for all replies.
     *
     * @param commands names and arguments; EVALSHA, EVAL, WAIT and ASKING are known
     * @return the replies in their order: what a script or command answers, or the exception of one that was refused
     * @throws RuntimeException if the connection failed: nothing is known of the commands then
     */
    List<@Nullable Object> exchange(List<byte[][]> commands);

    @Override
    void close();
}
