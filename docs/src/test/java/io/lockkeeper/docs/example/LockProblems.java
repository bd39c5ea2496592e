/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs.example;

import io.lockkeeper.LockException;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockStoreException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

@RestControllerAdvice
public class LockProblems {

    @ExceptionHandler
    ResponseEntity<ProblemDetail> busy(LockNotAcquiredException busy) {
        return problem(HttpStatus.CONFLICT, "Another request works on this", 1);
    }

    @ExceptionHandler({LockStoreException.class, LockInterruptedException.class})
    ResponseEntity<ProblemDetail> unavailable(LockException failure) {
        return problem(HttpStatus.SERVICE_UNAVAILABLE, "Locks are not available", 5);
    }

    private static ResponseEntity<ProblemDetail> problem(HttpStatus status, String detail, int retrySeconds) {
        return ResponseEntity.status(status)
                .header(HttpHeaders.RETRY_AFTER, String.valueOf(retrySeconds))
                .body(ProblemDetail.forStatusAndDetail(status, detail));
    }
}
