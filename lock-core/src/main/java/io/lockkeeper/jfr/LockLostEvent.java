/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** A hold that ended although it was not released. */
@Name("io.lockkeeper.LockLost")
@Label("Lock Lost")
@Description("A hold that ended although it was not released.")
@Category("Lockkeeper")
@StackTrace(false)
final class LockLostEvent extends Event {

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

    @Label("Reason")
    String reason = "";

    @Label("Held For")
    @Timespan(Timespan.NANOSECONDS)
    long heldFor;
}
