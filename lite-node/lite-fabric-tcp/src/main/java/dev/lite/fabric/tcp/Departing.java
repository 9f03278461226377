package dev.lite.fabric.tcp;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A lane as {@link Departures} sees it. */
abstract class Departing {
    /** Whether the lane is among the {@link Departures}, or about to be. */
    final AtomicBoolean departs = new AtomicBoolean();

    /** Written by the thread that set {@link #departs}, then by the poll role. */
    @Nullable
    Departing nextDeparture;

    /** Sends the queued frames, unless another thread does or the socket is full. Any thread. */
    abstract void depart();
}
