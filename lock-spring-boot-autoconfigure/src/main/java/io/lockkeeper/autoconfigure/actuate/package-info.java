/* SPDX-License-Identifier: Apache-2.0 */
/** The endpoint and the health of locks, for Spring Boot's actuator. */
@NullMarked
package io.lockkeeper.autoconfigure.actuate;

import org.jspecify.annotations.NullMarked;
