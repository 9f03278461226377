package dev.lite.fabric.shm;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;

/**
 * A ring of immediates with one sender and its receiver: each immediate arrives once, in order, and its data is visible.
 * The first two results are the receiver's two polls, the others the rest at the end.
 */
@JCStressTest
@Outcome(id = "0, 0, 1, 2", expect = Expect.ACCEPTABLE, desc = "It polled before anything was sent; both are left.")
@Outcome(
        id = {"1, 0, 2, 0", "0, 1, 2, 0"},
        expect = Expect.ACCEPTABLE,
        desc = "It received the first, in its first or second poll; the other is left.")
@Outcome(id = "1, 2, 0, 0", expect = Expect.ACCEPTABLE, desc = "It received both, in order.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc = "One was lost, duplicated or out of order, or (a number above 9) arrived before its data.")
@State
public class RingStress {
    private final TestRing ring = new TestRing();

    /** The sender. */
    @Actor
    public void send() {
        ring.send(1);
        ring.send(2);
    }

    /** The receiver polls twice. */
    @Actor
    public void receive(IIII_Result result) {
        result.r1 = ring.take();
        result.r2 = ring.take();
    }

    /** Receives the rest. */
    @Arbiter
    public void rest(IIII_Result result) {
        result.r3 = ring.take();
        result.r4 = ring.take();
    }
}
