/* SPDX-License-Identifier: Apache-2.0 */
/** The stream of the page in a real Tomcat, without the shop. */
@NullMarked
package io.lockkeeper.sample.board;

import org.jspecify.annotations.NullMarked;
