/* SPDX-License-Identifier: Apache-2.0 */
@NullMarked
package io.lockkeeper.integration;

import org.jspecify.annotations.NullMarked;
