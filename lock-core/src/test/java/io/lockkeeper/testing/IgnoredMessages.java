/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import io.lockkeeper.store.StoreListener;

/** For a store whose messages do not matter to a test. */
public class IgnoredMessages implements StoreListener {

    @Override
    public void revoked(String attempt) {}
}
