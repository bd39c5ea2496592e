/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs.example;

/** Where products are sold. */
public interface Shop {

    void whileSelling(Runnable body);

    String sell(String product);
}
