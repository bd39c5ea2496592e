/* SPDX-License-Identifier: Apache-2.0 */
package org.springframework.integration.test.condition;

/** Stands where Spring Integration's tests set levels of Log4j. */
public @interface LogLevels {

    String[] categories();
}
