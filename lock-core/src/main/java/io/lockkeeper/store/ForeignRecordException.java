/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/** The store has, under the name of a lock, something that is no lock, or a lock of another version. */
public class ForeignRecordException extends StoreException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception, with what there is and what to do about it. */
    public ForeignRecordException(String message) {
        super(message, null);
    }
}
