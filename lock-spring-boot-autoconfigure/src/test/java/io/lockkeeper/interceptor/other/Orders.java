/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor.other;

import io.lockkeeper.annotation.DistributedLocked;

/** A class with the name of one in another package. */
public class Orders {
    @DistributedLocked("orders")
    public void pay() {
        // Only its lock matters.
    }
}
