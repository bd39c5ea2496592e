/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.StoreListener;
import java.util.function.Consumer;

/** Takes messages to the clients of attempts, to be told when the command is over. */
interface Outbox {

    /** Sends a message to the client of an attempt. */
    void send(String attempt, Consumer<StoreListener> message);
}
