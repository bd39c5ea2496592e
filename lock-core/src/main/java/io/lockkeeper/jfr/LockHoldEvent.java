/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A hold of locks, from the grant to its release or loss. */
@Name("io.lockkeeper.LockHold")
@Label("Lock Hold")
@Description("A hold of locks, from the grant to its release or loss.")
@Category("Lockkeeper")
@StackTrace(false)
final class LockHoldEvent extends Event {

    @Label("Names")
    String names = "";

    @Label("Mode")
    String mode = "";

    @Label("Label")
    @Nullable
    String label;

    @Label("Fencing Token")
    @Description("The token of the first name")
    long fencingToken;

    @Label("Outcome")
    @Description("released, lost, or unknown where the store did not answer to the release")
    String outcome = "";
}
