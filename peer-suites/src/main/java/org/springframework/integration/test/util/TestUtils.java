/* SPDX-License-Identifier: Apache-2.0 */
package org.springframework.integration.test.util;

import org.springframework.beans.DirectFieldAccessor;

/** Stands where Spring Integration's tests read fields. */
public final class TestUtils {

    private TestUtils() {}

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals", "NullAway"})
    public static <T> T getPropertyValue(Object root, String propertyPath) {
        return (T) new DirectFieldAccessor(root).getPropertyValue(propertyPath);
    }
}
