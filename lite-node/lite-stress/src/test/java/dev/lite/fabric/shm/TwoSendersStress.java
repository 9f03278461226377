package dev.lite.fabric.shm;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** A ring of immediates with two concurrent senders: each immediate arrives once, and nothing else. */
@JCStressTest
@Outcome(
        id = {"1, 2, 0", "2, 1, 0"},
        expect = Expect.ACCEPTABLE,
        desc = "Both, in either order.")
@Outcome(expect = Expect.FORBIDDEN, desc = "One was lost or duplicated, or an unknown one arrived.")
@State
public class TwoSendersStress {
    private final TestRing ring = new TestRing();

    /** One sender. */
    @Actor
    public void sendFirst() {
        ring.send(1);
    }

    /** The other. */
    @Actor
    public void sendSecond() {
        ring.send(2);
    }

    /** The receiver, after both senders. */
    @Arbiter
    public void receive(III_Result result) {
        result.r1 = ring.take();
        result.r2 = ring.take();
        result.r3 = ring.take();
    }
}
