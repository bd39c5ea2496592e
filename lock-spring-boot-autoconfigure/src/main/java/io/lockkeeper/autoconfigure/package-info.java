/* SPDX-License-Identifier: Apache-2.0 */
/** Auto-configuration of Lockkeeper in a Spring Boot application. */
@NullMarked
package io.lockkeeper.autoconfigure;

import org.jspecify.annotations.NullMarked;
