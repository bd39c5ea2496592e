/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.jfr;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import java.util.Locale;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** What all events say. */
@Category("Lockkeeper")
@StackTrace(false)
abstract class LockEvent extends Event {

    @Label("Names")
    String names = "";

    @Label("Mode")
    String mode = "";

    @Label("Label")
    @Nullable
    String label;

    final void describe(LockRequest request) {
        names = String.join(",", request.names());
        mode(request.mode());
        label = request.label();
    }

    final void mode(LockMode held) {
        mode = held.name().toLowerCase(Locale.ROOT);
    }

    @Name("io.lockkeeper.LockWait")
    @Label("Lock Wait")
    @Description("A request for locks, from the call to its end.")
    static final class Wait extends LockEvent {

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

    @Name("io.lockkeeper.LockHold")
    @Label("Lock Hold")
    @Description("A hold of locks, from the grant to its release or loss.")
    static final class Hold extends LockEvent {

        @Label("Fencing Token")
        @Description("The token of the first name")
        long fencingToken;

        @Label("Outcome")
        @Description("released, lost, or unknown where the store did not answer to the release")
        String outcome = "";
    }

    @Name("io.lockkeeper.LockLost")
    @Label("Lock Lost")
    @Description("A hold that ended although it was not released.")
    static final class Lost extends LockEvent {

        @Label("Fencing Token")
        @Description("The token of the first name")
        long fencingToken;

        @Label("Reason")
        String reason = "";

        @Label("Held For")
        @Timespan(Timespan.NANOSECONDS)
        long heldFor;
    }
}
