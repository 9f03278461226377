package dev.lite.fabric.tcp;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * Each lane has one frame left to the polling thread, and gets another one while that thread sends. The result is the
 * number of frames that the next poll does not send either. The more lanes, the more often the two threads meet.
 */
@JCStressTest
@Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "A late frame entered its lane again.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Frames are forgotten.")
@State
public class DeparturesPollStress {
    private final TestDepartures departures = new TestDepartures(16);

    /** The first frames. */
    public DeparturesPollStress() {
        departures.post();
    }

    /** The posting thread. */
    @Actor
    public void post() {
        departures.post();
    }

    /** The polling thread. */
    @Actor
    public void poll() {
        departures.poll();
    }

    /** The next poll. */
    @Arbiter
    public void pollAgain(I_Result result) {
        departures.poll();
        result.r1 = departures.left();
    }
}
