/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * What an instance of the shop is told.
 *
 * @param instance the name of this instance in replies and orders
 * @param product what is on sale
 * @param stock how many units there are at the first start
 */
@ConfigurationProperties("sample")
public record ShopProperties(String instance, String product, int stock) {}
