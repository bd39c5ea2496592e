/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs.example;

/** An order. */
public record Order(String id) {}
