package dev.lite.fabric.tcp;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/** Lanes that only count their frames, and departures whose thread polls. */
final class TestDepartures {
    private static final Operations NONE_OUTSTANDING = new Operations();

    private static final int SEND_SPINS = 10;

    private final Departures departures = new Departures();
    private final Lane[] lanes;

    /** The frames are queued and sent under a lock in a real lane. */
    private static final class Lane extends Departing {
        final AtomicInteger queued = new AtomicInteger();

        @Override
        void depart() {
            queued.set(0);
            // A lane's send, too, ends a while after its last look at the queue.
            for (int i = 0; i < SEND_SPINS; i++) {
                Thread.onSpinWait();
            }
        }
    }

    TestDepartures(int count) {
        lanes = new Lane[count];
        Arrays.setAll(lanes, i -> new Lane());
        departures.poll(System.nanoTime());
    }

    /** A post to each lane, by a thread that found another one polling. */
    void post() {
        for (Lane lane : lanes) {
            lane.queued.incrementAndGet();
            if (!departures.leave(lane, NONE_OUTSTANDING, 0, false)) {
                lane.depart();
            }
        }
    }

    /** The polling thread sends what was left. */
    void poll() {
        departures.send();
    }

    /** The thread stops polling. */
    void stop() {
        departures.stop();
    }

    /** Number of frames that are queued and not sent. */
    int left() {
        return Arrays.stream(lanes).mapToInt(lane -> lane.queued.get()).sum();
    }
}
