package dev.lite.fabric.shm;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;

/**
 * A ring of immediates with one sender and its receiver: what arrives is whole, once, in order, and its data is visible. The
 * first two results are what the receiver found by two looks, the others what was left at the end.
 */
@JCStressTest
@Outcome(id = "0, 0, 1, 2", expect = Expect.ACCEPTABLE, desc = "It looked before anything was sent; both are left.")
@Outcome(
        id = {"1, 0, 2, 0", "0, 1, 2, 0"},
        expect = Expect.ACCEPTABLE,
        desc = "It found the first, by its first or its second look; the other is left.")
@Outcome(id = "1, 2, 0, 0", expect = Expect.ACCEPTABLE, desc = "It found both, in order.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc = "One was lost, came twice or out of order, or (a number over 9) before its data.")
@State
public class RingStress {
    private final TestRing ring = new TestRing();

    /** The sender. */
    @Actor
    public void send() {
        ring.send(1);
        ring.send(2);
    }

    /** The receiver looks twice. */
    @Actor
    public void receive(IIII_Result result) {
        result.r1 = ring.take();
        result.r2 = ring.take();
    }

    /** What is left. */
    @Arbiter
    public void rest(IIII_Result result) {
        result.r3 = ring.take();
        result.r4 = ring.take();
    }
}
