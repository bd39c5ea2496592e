/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Locks on servers in every arrangement, reached as an application reaches them: through {@code spring.data.redis.*}.
 */
@NullMarked
package io.lockkeeper.topology;

import org.jspecify.annotations.NullMarked;
