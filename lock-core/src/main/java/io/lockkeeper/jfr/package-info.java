/* SPDX-License-Identifier: Apache-2.0 */
/** Events of the JDK Flight Recorder. */
@NullMarked
package io.lockkeeper.jfr;

import org.jspecify.annotations.NullMarked;
