/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** How each master stands to one acquisition. Guarded by its user. */
final class AcquisitionVotes {

    /** How a master stands. */
    enum Standing {
        /** It has not answered. */
        OPEN,
        /** It has granted the locks. */
        GRANTED,
        /** It has granted the locks, and has the token that was chosen. */
        CONFIRMED,
        /** It keeps the locks for another attempt, or has ended the attempt. */
        REFUSED,
        /** It failed. */
        FAILED
    }

    private final int majority;
    private final Map<Master, Standing> standings = new LinkedHashMap<>();
    private final List<AcquireReply.Acquired> grants = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();
    private final List<String> holders = new ArrayList<>();
    private boolean ended;

    /** How many failed because they have never been reached. */
    private int notReady;

    AcquisitionVotes(List<Master> masters) {
        this.majority = Tally.majorityOf(masters.size());
        masters.forEach(master -> standings.put(master, Standing.OPEN));
    }

    void answered(Master master, AcquireReply reply) {
        if (reply instanceof AcquireReply.Acquired grant) {
            grants.add(grant);
            stands(master, Standing.GRANTED);
            return;
        }
        if (reply instanceof AcquireReply.Busy busy) {
            holders.add(busy.holder());
        }
        ended |= reply instanceof AcquireReply.Ended;
        stands(master, Standing.REFUSED);
    }

    void failed(Master master, @Nullable Throwable failure) {
        Throwable fault = Objects.requireNonNull(failure);
        faults.add(master.describe(fault));
        if (fault instanceof StoreNotReadyException || fault.getCause() instanceof StoreNotReadyException) {
            notReady++;
        }
        stands(master, Standing.FAILED);
    }

    void stands(Master master, Standing standing) {
        standings.put(master, standing);
    }

    /** A master that has not answered to the write-back in time has not answered, whatever it had granted before. */
    void forgetUnconfirmed() {
        with(Standing.GRANTED::equals).forEach(master -> stands(master, Standing.OPEN));
    }

    private long count(Predicate<Standing> what) {
        return standings.values().stream().filter(what).count();
    }

    private static boolean isGrant(Standing standing) {
        return standing == Standing.GRANTED || standing == Standing.CONFIRMED;
    }

    private static boolean isAnswer(Standing standing) {
        return standing != Standing.OPEN && standing != Standing.FAILED;
    }

    boolean isGranted() {
        return count(AcquisitionVotes::isGrant) >= majority;
    }

    boolean isConfirmed() {
        return count(Standing.CONFIRMED::equals) >= majority;
    }

    private boolean isAnswered() {
        return count(AcquisitionVotes::isAnswer) >= majority;
    }

    /**
     * Returns whether a majority cannot be had any more, or only with masters that did not answer lately: where a majority
     * has answered, and is not of one mind, those are not waited for.
     */
    boolean isHopeless() {
        long grants = count(AcquisitionVotes::isGrant);
        long open = count(Standing.OPEN::equals);
        return grants < majority && (grants + open < majority || (isAnswered() && allOpenAreSilent()));
    }

    private boolean allOpenAreSilent() {
        return standings.entrySet().stream()
                .filter(entry -> entry.getValue() == Standing.OPEN)
                .allMatch(entry -> entry.getKey().isSilent());
    }

    /** Returns the masters that have granted the locks. */
    List<Master> granting() {
        return with(AcquisitionVotes::isGrant);
    }

    /** Returns the masters that may have something of the attempt. */
    List<Master> withoutRefusal() {
        return with(standing -> standing != Standing.REFUSED);
    }

    private List<Master> with(Predicate<Standing> what) {
        return standings.entrySet().stream()
                .filter(entry -> what.test(entry.getValue()))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Returns for each lock the highest of the tokens that were granted. */
    List<Long> highestTokens() {
        return IntStream.range(0, grants.get(0).firstTokens().size())
                .mapToObj(i -> grants.stream()
                        .map(grant -> grant.firstTokens().get(i))
                        .max(Long::compare)
                        .orElseThrow())
                .toList();
    }

    /** Returns what the caller is told where a majority has answered, but not granted; null where it has not. */
    @Nullable
    AcquireReply refusal() {
        if (!isAnswered()) {
            return null;
        }
        return ended ? new AcquireReply.Ended() : new AcquireReply.Busy(holder());
    }

    /** Returns the holder of whom most masters know; empty where none does. */
    private String holder() {
        Map<String, Long> known = holders.stream()
                .filter(holder -> !holder.isEmpty())
                .collect(Collectors.groupingBy(Function.identity(), LinkedHashMap::new, Collectors.counting()));
        return known.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse("");
    }

    /** Returns the failure where a majority cannot answer any more; null where it still can. */
    @Nullable
    StoreException failure() {
        boolean lost = count(Standing.FAILED::equals) > standings.size() - majority;
        return lost ? noMajority(faults) : null;
    }

    /** Returns the failure of an acquisition whose time is over. */
    StoreException silence() {
        List<String> all = new ArrayList<>(faults);
        with(Standing.OPEN::equals).forEach(master -> all.add(master.describeSilence()));
        return noMajority(all);
    }

    /** Masters that have never been reached may be there soon: a caller who waits may ask again where these would do. */
    private StoreException noMajority(List<String> all) {
        StoreException failure = Tally.noMajority(standings.size(), all);
        long neverReached = notReady
                + with(Standing.OPEN::equals).stream()
                        .filter(master -> !master.wasReached())
                        .count();
        return neverReached > 0 && count(AcquisitionVotes::isAnswer) + neverReached >= majority
                ? new StoreNotReadyException(Objects.requireNonNull(failure.getMessage()), failure)
                : failure;
    }
}
