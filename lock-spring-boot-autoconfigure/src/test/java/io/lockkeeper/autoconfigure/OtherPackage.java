/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.annotation.DistributedLocked;

/** A class whose subclasses elsewhere cannot override its method. */
public class OtherPackage {

    @DistributedLocked
    void hidden() {}
}
