/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

/** The product is not on sale. */
public final class UnknownProductException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    UnknownProductException(String product) {
        super("'" + product + "' is not on sale here");
    }
}
