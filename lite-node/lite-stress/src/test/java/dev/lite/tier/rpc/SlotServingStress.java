package dev.lite.tier.rpc;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * A thread answers a call of its node to itself whose caller has stopped waiting, while the node stops and unmaps the slots. The first
 * result is 1 if the answer was written, 2 if it was written to unmapped memory; the second one is 1 if the node has unmapped the slots.
 */
@JCStressTest
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "The node stopped first, and the answer was dropped.")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The answer was written first, and then the node stopped.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The answer was written to unmapped memory, or the node did not stop.")
@State
public class SlotServingStress {
    private static final long LONG_NS = 10_000_000_000L;

    private final RpcSlots slots = TestSlots.small();
    private final RpcSlot slot;
    private volatile boolean unmapped;

    /** A call whose caller has stopped waiting. */
    public SlotServingStress() {
        slot = slots.calls("a", "f").take(1, System.nanoTime() + LONG_NS);
        slot.state(RpcSlot.ABANDONED);
    }

    /** The server. */
    @Actor
    public void answer(II_Result result) {
        if (slots.beginServing(slot)) {
            result.r1 = unmapped ? 2 : 1;
            slot.endServing();
        }
    }

    /** The node. */
    @Actor
    public void stop(II_Result result) {
        slots.close();
        if (slots.end(System.nanoTime() + LONG_NS)) {
            unmapped = true;
            result.r2 = 1;
        }
    }
}
