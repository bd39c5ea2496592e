/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs.example;

/** A price, in cents. */
public record Price(long cents) {}
