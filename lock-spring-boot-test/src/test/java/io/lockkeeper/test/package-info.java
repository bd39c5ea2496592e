/* SPDX-License-Identifier: Apache-2.0 */
@NullMarked
package io.lockkeeper.test;

import org.jspecify.annotations.NullMarked;
