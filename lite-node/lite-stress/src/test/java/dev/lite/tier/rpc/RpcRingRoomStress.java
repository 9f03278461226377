package dev.lite.tier.rpc;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A full ring: the server consumes the first entry while the caller wants room. The first result says whether the caller
 * got it then, the second whether there is room at the end, the third whether there is more.
 */
@JCStressTest
@Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "The caller saw the new head and has the room.")
@Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "The caller was too early; the room is there now.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Room was given out twice, or was lost.")
@State
public class RpcRingRoomStress {
    private final TestRpcRing ring = new TestRpcRing();

    /** All room is reserved. */
    public RpcRingRoomStress() {
        while (ring.reserve() == 1) {
            // until it is full
        }
    }

    /** The server. */
    @Actor
    public void consume() {
        ring.consume(0);
    }

    /** The caller. */
    @Actor
    public void reserve(III_Result result) {
        result.r1 = ring.reserve();
    }

    /** The caller, later. */
    @Arbiter
    public void check(III_Result result) {
        result.r2 = ring.reserve();
        result.r3 = ring.reserve();
    }
}
