/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import io.lockkeeper.LockListener;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Keeps all events. */
public final class RecordingListener implements LockListener {

    private final List<Object> events = new CopyOnWriteArrayList<>();

    /** Returns all events, in their order. */
    List<Object> all() {
        return events;
    }

    /** Returns the events of a kind. */
    public <T> List<T> events(Class<T> kind) {
        return events.stream().filter(kind::isInstance).map(kind::cast).toList();
    }

    @Override
    public void onAsked(Asked event) {
        events.add(event);
    }

    @Override
    public void onAcquired(Acquired event) {
        events.add(event);
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        events.add(event);
    }

    @Override
    public void onGivenUp(GivenUp event) {
        events.add(event);
    }

    @Override
    public void onBodyBegins(Body event) {
        events.add(event);
    }

    @Override
    public void onBodyEnds(Body event) {
        events.add(event);
    }

    @Override
    public void onDowngraded(Downgraded event) {
        events.add(event);
    }

    @Override
    public void onReleased(Released event) {
        events.add(event);
    }

    @Override
    public void onLost(Lost event) {
        events.add(event);
    }

    @Override
    public void onRenewed(Renewed event) {
        events.add(event);
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        events.add(event);
    }
}
