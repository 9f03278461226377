package dev.lite.fabric.shm;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A post races with the end of its connection: once the gate is closed, the memory behind it has a new owner. */
@JCStressTest
@Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "The gate was closed before the post: it accessed nothing.")
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "The post was first, and close waited for it.")
@Outcome(
        id = "2",
        expect = Expect.FORBIDDEN,
        desc = "The post entered, close did not wait for it, and it accessed memory of the next owner.")
@State
public class PostGateStress {
    private static final int FORMER = 1;
    private static final int NEXT = 2;
    private static final int COPY_SPINS = 400;

    private final PostGate gate = new PostGate();
    private int memory = gate.open() ? FORMER : NEXT;

    /** The post. */
    @Actor
    public void post(I_Result result) {
        long slot = gate.enter();
        if (slot != PostGate.REFUSED) {
            // A long copy: the other thread checks every slot before it ends.
            for (int spins = 0; spins < COPY_SPINS; spins++) {
                Thread.onSpinWait();
            }
            result.r1 = memory;
            gate.exit(slot);
        }
    }

    /** Closes the gate and reuses the memory. */
    @Actor
    public void end() {
        gate.close();
        memory = NEXT;
    }
}
