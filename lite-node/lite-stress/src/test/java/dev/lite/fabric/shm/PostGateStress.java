package dev.lite.fabric.shm;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A post against the end of its connection: when the gate is closed, the memory behind it is somebody else's. */
@JCStressTest
@Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "The gate was closed when the post came: it touched nothing.")
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "The post was first, and the close waited for it.")
@Outcome(
        id = "2",
        expect = Expect.FORBIDDEN,
        desc = "The post got in, was not waited for, and met the memory's next owner.")
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
            // A long copy: the other has looked at every slot before this one is over.
            for (int spins = 0; spins < COPY_SPINS; spins++) {
                Thread.onSpinWait();
            }
            result.r1 = memory;
            gate.exit(slot);
        }
    }

    /** The end, and the reuse. */
    @Actor
    public void end() {
        gate.close();
        memory = NEXT;
    }
}
