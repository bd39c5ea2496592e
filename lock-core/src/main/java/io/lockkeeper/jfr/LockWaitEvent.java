/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A request for locks, from the call to its end. */
@Name("io.lockkeeper.LockWait")
@Label("Lock Wait")
@Description("A request for locks, from the call to its end.")
@Category("Lockkeeper")
@StackTrace(false)
final class LockWaitEvent extends Event {

    @Label("Names")
    String names = "";

    @Label("Mode")
    String mode = "";

    @Label("Label")
    @Nullable
    String label;

    @Label("Outcome")
    @Description("acquired, given up, or why the request failed")
    String outcome = "";

    @Label("Way")
    @Description("How an acquired lock came to the caller: answer, pass, grant or poll")
    @Nullable
    String way;

    @Label("Attempts")
    int attempts;
}
