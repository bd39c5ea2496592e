/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreListener;
import java.nio.charset.StandardCharsets;

/**
 * The messages on the channel of a client: {@code grant attempt token until key}, {@code revoke attempt key},
 * {@code free-at attempt milliseconds key} and {@code awaited attempt key}.
 */
final class ChannelMessage {

    private ChannelMessage() {}

    /** Tells a listener what a message says; one of a kind that a later version may know says nothing. */
    static void tell(byte[] message, RedisNames names, StoreListener listener) {
        String[] parts = new String(message, StandardCharsets.UTF_8).split(" ", 5);
        if (parts.length == 5 && parts[0].equals("grant")) {
            listener.granted(
                    new Grant(parts[1], names.lockName(parts[4]), Long.parseLong(parts[2]), Long.parseLong(parts[3])));
        } else if (parts.length >= 3 && parts[0].equals("revoke")) {
            listener.revoked(parts[1]);
        } else if (parts.length >= 4 && parts[0].equals("free-at")) {
            listener.freeIn(parts[1], Long.parseLong(parts[2]));
        } else if (parts.length >= 3 && parts[0].equals("awaited")) {
            listener.awaited(parts[1]);
        }
    }
}
