package dev.lite.session.channel;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Slot 5 is submitted. One thread takes requests while another submits slot 6 and takes one. The first two results are what each
 * took, the third is what is left.
 */
@JCStressTest
@Outcome(
        id = {"5, 6, -1", "6, 5, -1"},
        expect = Expect.ACCEPTABLE,
        desc = "Each took one.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A request was lost or taken twice.")
@State
public class RequestTakersStress {
    private final RequestBell bell = BellMemory.bell();

    /** A bell with one request. */
    public RequestTakersStress() {
        boolean unused = bell.submit(5);
    }

    /** A server thread. */
    @Actor
    public void take(III_Result result) {
        result.r1 = bell.take();
    }

    /** A caller, and then another server thread. */
    @Actor
    public void submitAndTake(III_Result result) {
        boolean unused = bell.submit(6);
        result.r2 = bell.take();
    }

    /** After both. */
    @Arbiter
    public void left(III_Result result) {
        result.r3 = bell.take();
    }
}
