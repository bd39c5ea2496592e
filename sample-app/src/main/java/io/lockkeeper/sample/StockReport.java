/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import java.util.Map;

/**
 * How the sale stands: right when {@code sold + remaining == units}.
 *
 * @param product what is on sale
 * @param units how many there were
 * @param remaining how many are left, as the stock says
 * @param sold how many orders were taken
 * @param perInstance how many each instance took
 */
public record StockReport(String product, int units, int remaining, int sold, Map<String, Integer> perInstance) {}
