/* SPDX-License-Identifier: Apache-2.0 */
/** Tests of the documentation. */
@NullMarked
package io.lockkeeper.docs;

import org.jspecify.annotations.NullMarked;
