package io.lockkeeper.sample;

import java.util.Map;

/** How the sale stands: right when {@code sold + remaining == units}. */
record StockReport(String product, int units, int remaining, int sold, Map<String, Integer> perInstance) {}
