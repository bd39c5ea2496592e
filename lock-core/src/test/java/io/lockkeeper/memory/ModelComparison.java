/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.ModelCommand.Step;
import io.lockkeeper.memory.ModelInvariants.Snapshot;
import io.lockkeeper.memory.ModelRun.Call;
import io.lockkeeper.memory.VirtualTimeScripts.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One sequence on the model and on the scripts: what is compared after every step. */
final class ModelComparison {

    private static final long TOLERANCE_MILLIS = 2_000;
    /** A plain release leaves a key the life that it had, and a key that is used again lives longer than it must. */
    private static final long LONGER_MILLIS = 40_000;

    private final List<Step> steps;
    private final List<Ran> ran = new ArrayList<>();
    private Optional<Failure> broken = Optional.empty();

    private record Ran(Call call, List<Snapshot> before, List<Snapshot> after) {}

    /**
     * A step after which something is wrong.
     *
     * @param index the step's place in the sequence
     * @param kind what is wrong, in the same words for the same fault
     * @param details more of it
     */
    record Failure(int index, String kind, String details) {}

    /** Runs the model, up to the first step after which it breaks a rule. */
    ModelComparison(List<Step> steps) {
        this.steps = steps;
        ModelRun model = new ModelRun();
        ModelHistory history = new ModelHistory(model::asker);
        for (int i = 0; i < steps.size() && broken.isEmpty(); i++) {
            Step step = steps.get(i);
            List<Snapshot> before = look(model, step);
            Call call = model.run(step);
            Ran now = new Ran(call, before, look(model, step));
            ran.add(now);
            int index = i;
            broken = fault(history, step, now)
                    .map(words -> new Failure(index, words, call.reply() + "\n" + call.records()));
        }
    }

    private static List<Snapshot> look(ModelRun model, Step step) {
        return step.command().names().stream()
                .map(name -> Snapshot.of(model.record(name)))
                .toList();
    }

    private static Optional<String> fault(ModelHistory history, Step step, Ran now) {
        Optional<String> fault = history.check(step, now.call, now.before, now.after);
        for (int i = 0; i < now.after.size() && fault.isEmpty(); i++) {
            fault = ModelInvariants.check(step, now.call, now.before.get(i), now.after.get(i));
        }
        return fault;
    }

    List<Call> calls() {
        return ran.stream().map(Ran::call).toList();
    }

    List<Long> times() {
        return steps.subList(0, ran.size()).stream().map(Step::micros).toList();
    }

    /** Returns the first thing that is wrong, with the model or between it and the scripts. */
    Optional<Failure> failure(List<Result> results) {
        for (int i = 0; i < ran.size(); i++) {
            Call call = ran.get(i).call;
            Result result = results.get(i);
            int index = i;
            Optional<Failure> differs = differs(index, "reply", call.reply(), result.reply())
                    .or(() -> differs(index, "messages", call.messages(), result.messages()))
                    .or(() -> differs(index, "record", call.records(), result.records()))
                    .or(() -> life(index, result));
            if (differs.isPresent()) {
                return differs;
            }
        }
        return broken;
    }

    private static Optional<Failure> differs(int index, String what, String model, String script) {
        return model.equals(script)
                ? Optional.empty()
                : Optional.of(new Failure(
                        index, what + " differs", "model:  " + indented(model) + "\nscript: " + indented(script)));
    }

    private static String indented(String lines) {
        return lines.replace("\n", "\n        ");
    }

    /**
     * The key of a record must outlive its hold by a tombstone's time, counted from the last change or the lapse before
     * it.
     */
    private Optional<Failure> life(int index, Result result) {
        Ran step = ran.get(index);
        for (int i = 0; i < step.after.size(); i++) {
            Snapshot after = step.after.get(i);
            long life = result.lives().get(i);
            long now = steps.get(index).millis();
            long least = after.remaining(now);
            long lapsed = now - step.before.get(i).lastLapse(now);
            long most = least + ModelRun.TOMBSTONE_MILLIS;
            boolean changed = !after.equals(step.before.get(i));
            boolean wrong = after.token() > 0 && (life < least || (life > most + LONGER_MILLIS && changed));
            if (wrong || (changed && life < most - lapsed - TOLERANCE_MILLIS)) {
                return Optional.of(new Failure(index, "life differs", life + " ms instead of " + most));
            }
        }
        return Optional.empty();
    }
}
