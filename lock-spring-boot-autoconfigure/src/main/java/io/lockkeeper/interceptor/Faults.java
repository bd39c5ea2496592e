/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.ArrayList;
import java.util.List;

/** Collects what is wrong with one method. */
final class Faults {

    private final AnnotatedMethod method;
    private final List<DistributedLockedFault> found = new ArrayList<>(0);

    Faults(AnnotatedMethod method) {
        this.method = method;
    }

    /** Adds a fault of an attribute; of the method itself where the attribute is empty. */
    void add(String attribute, String problem, String remedy) {
        found.add(new DistributedLockedFault(method.declaringClass(), method.signature(), attribute, problem, remedy));
    }

    boolean isEmpty() {
        return found.isEmpty();
    }

    List<DistributedLockedFault> found() {
        return List.copyOf(found);
    }
}
