/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

/** Something that does not work until it is closed. */
public interface Outage extends AutoCloseable {

    /** Lets it work again. Idempotent. */
    @Override
    void close();
}
