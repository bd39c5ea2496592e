/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockStoreException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ResponseStatus;

/** The store could not be asked: nobody's fault here, and worth another try. */
@ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
final class LockStoreUnavailableException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    LockStoreUnavailableException(LockStoreException failure) {
        super(failure.getMessage(), failure);
    }
}
