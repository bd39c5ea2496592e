/* SPDX-License-Identifier: Apache-2.0 */
@NullMarked
package io.lockkeeper.interceptor.other;

import org.jspecify.annotations.NullMarked;
