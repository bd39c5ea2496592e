/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Shows the stock and starts the sale again. */
@RestController
@RequestMapping("/stock/{product}")
class StockController {

    private final Warehouse warehouse;

    StockController(Warehouse warehouse) {
        this.warehouse = warehouse;
    }

    @GetMapping
    StockReport report(@PathVariable String product) {
        return warehouse.report(product);
    }

    @PostMapping
    StockReport reset(@PathVariable String product, @RequestParam(defaultValue = "${sample.stock}") int units) {
        warehouse.reset(product, units);
        return warehouse.report(product);
    }
}
