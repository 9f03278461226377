package dev.lite.tier.rpc;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** Two threads of the server consume the entries of a full ring in any order. The result counts the entries that fit then. */
@JCStressTest
@Outcome(id = "4", expect = Expect.ACCEPTABLE, desc = "The caller has all the room again.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Room was lost, or there is too much.")
@State
public class RpcRingConsumersStress {
    private final TestRpcRing ring = new TestRpcRing();

    /** All room is reserved. */
    public RpcRingConsumersStress() {
        while (ring.reserve() == 1) {
            // until it is full
        }
    }

    /** Takes two calls, the later one first. */
    @Actor
    public void first() {
        ring.consume(2);
        ring.consume(0);
    }

    /** Takes the others. */
    @Actor
    public void second() {
        ring.consume(1);
        ring.consume(3);
    }

    /** The caller. */
    @Arbiter
    public void check(I_Result result) {
        while (ring.reserve() == 1 && result.r1 < 9) {
            result.r1++;
        }
    }
}
