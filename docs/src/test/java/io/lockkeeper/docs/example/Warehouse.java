/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs.example;

/** Where products are. */
public interface Warehouse {

    void take(String product, long fencingToken);

    void update(String product, long fencingToken);

    void move(String from, String to);

    void fill(String product, int shelf);
}
