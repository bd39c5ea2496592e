/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.security.SecureRandom;

/** Makes client ids: 12 random letters and digits, so that two processes never have the same one. */
public final class ClientIds {

    private static final String ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    private static final SecureRandom RANDOM = new SecureRandom();

    /** How long each id is. */
    public static final int LENGTH = 12;

    private ClientIds() {}

    /** Returns a new id. */
    public static String next() {
        StringBuilder id = new StringBuilder(LENGTH);
        for (int i = 0; i < LENGTH; i++) {
            id.append(ALPHABET.charAt(RANDOM.nextInt(ALPHABET.length())));
        }
        return id.toString();
    }
}
