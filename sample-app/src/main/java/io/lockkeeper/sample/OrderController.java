/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Takes orders in the way that the caller wants to see. */
@RestController
class OrderController {

    private final Map<String, Orders> modes;

    OrderController(Map<String, Orders> modes) {
        this.modes = modes;
    }

    @PostMapping("/orders")
    ResponseEntity<OrderResult> order(
            @RequestParam(defaultValue = "${sample.product}") String product,
            @RequestParam(defaultValue = "locked") String mode) {
        Orders orders = modes.get(mode);
        if (orders == null) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "mode must be one of " + modes.keySet());
        }
        OrderResult result = orders.place(product);
        return ResponseEntity.status(status(result)).body(result);
    }

    private static HttpStatus status(OrderResult result) {
        if (result instanceof OrderResult.Refused refused) {
            return switch (refused.reason()) {
                case SOLD_OUT, NEWER_HOLDER -> HttpStatus.CONFLICT;
                case LOCK_NOT_ACQUIRED -> HttpStatus.SERVICE_UNAVAILABLE;
            };
        }
        return HttpStatus.CREATED;
    }
}
