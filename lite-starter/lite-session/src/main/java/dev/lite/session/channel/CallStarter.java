package dev.lite.session.channel;

import dev.lite.session.async.PollingHelp;
import java.util.function.BooleanSupplier;

/** Starts the calls of a channel that no thread waits for, and sees to it that they end. Any thread, in the memory. */
interface CallStarter {
    /**
     * Begins a call; {@link #start} follows. If this throws, for example because there is no memory for a timer, the call has not begun.
     *
     * @param deadlineNs of {@link System#nanoTime}
     */
    void begin(int slot, long deadlineNs);

    /**
     * Submits the request of a slot whose call has {@linkplain #begin begun}. Never blocks.
     *
     * @param soon whether the thread will probably submit another one or poll within microseconds
     * @param nowNs the time, of {@link System#nanoTime}; a moment ago will do
     */
    void start(int slot, boolean soon, long nowNs);

    /** A started call ends, and its future has stages, or threads wait for it that do not poll. */
    void endsStages();

    /**
     * A wait of this platform thread for started calls: it polls. Not in the memory.
     *
     * @param over whether the wait may end
     */
    PollingHelp.Wait newWait(BooleanSupplier over);
}
