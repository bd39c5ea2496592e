/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs.example;

/** A receipt. */
public record Receipt(String order) {}
