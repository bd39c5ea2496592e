/* SPDX-License-Identifier: Apache-2.0 */
/** A real Chromium, driven over the Chrome DevTools Protocol with nothing but the JDK. */
@NullMarked
package io.lockkeeper.sample.browser;

import org.jspecify.annotations.NullMarked;
