/* SPDX-License-Identifier: Apache-2.0 */
@NullMarked
package io.lockkeeper.shedlock;

import org.jspecify.annotations.NullMarked;
