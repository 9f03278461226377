package dev.lite.fabric.tcp;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * A thread leaves a frame to the polling thread, which stops polling. Nobody polls afterwards, so one of the two must
 * send the frame. The result is the number of frames that are left.
 */
@JCStressTest
@Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "The frame was sent.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The frame is forgotten: each thread left it to the other one.")
@State
public class DeparturesStopStress {
    private final TestDepartures departures = new TestDepartures(1);

    /** The posting thread. */
    @Actor
    public void post() {
        departures.post();
    }

    /** The polling thread. */
    @Actor
    public void stop() {
        departures.stop();
    }

    /** Nobody polls. */
    @Arbiter
    public void check(I_Result result) {
        result.r1 = departures.left();
    }
}
