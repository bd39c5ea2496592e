/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import io.lockkeeper.LockException;
import io.lockkeeper.LockNotAcquiredException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** Tells the caller what went wrong where no fallback method does. */
@RestControllerAdvice
class FailureAdvice {

    @ExceptionHandler
    ProblemDetail busy(LockNotAcquiredException busy) {
        return problem(HttpStatus.SERVICE_UNAVAILABLE, "Lock not acquired", busy);
    }

    @ExceptionHandler
    ProblemDetail noLocks(LockException failed) {
        return problem(HttpStatus.SERVICE_UNAVAILABLE, "Locking failed", failed);
    }

    @ExceptionHandler
    ProblemDetail unknown(UnknownProductException unknown) {
        return problem(HttpStatus.NOT_FOUND, "Unknown product", unknown);
    }

    private static ProblemDetail problem(HttpStatus status, String title, Exception cause) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(status, String.valueOf(cause.getMessage()));
        problem.setTitle(title);
        return problem;
    }
}
