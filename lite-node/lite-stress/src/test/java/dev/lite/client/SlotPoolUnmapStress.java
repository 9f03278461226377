package dev.lite.client;

import java.util.concurrent.TimeUnit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** An operation through a handle against its unmap, as {@link Transfer} and {@link ClientHandle} do them. */
@JCStressTest
@Outcome(
        id = "0",
        expect = Expect.ACCEPTABLE,
        desc = "The operation saw that the handle was unmapped, and did nothing.")
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "The operation was first, and unmap waited for its slot.")
@Outcome(
        id = "2",
        expect = Expect.FORBIDDEN,
        desc = "The operation saw a mapped handle, but unmap did not wait for it, and another owner got the memory.")
@State
public class SlotPoolUnmapStress {
    private static final long LH = 77;
    private static final int FORMER = 1;
    private static final int NEXT = 2;
    private static final int COPY_SPINS = 100;
    private static final long DEADLINE_NS = TimeUnit.SECONDS.toNanos(60);

    private final SlotPool pool = new SlotPool(2, slot -> true);
    private volatile boolean unmapped;
    private int memory = FORMER;

    /** The operation. */
    @Actor
    public void operate(I_Result result) {
        int slot = pool.tryAcquire();
        pool.workFor(slot, LH);
        if (!unmapped) {
            // A long copy: unmap has checked every slot before it ends.
            for (int spins = 0; spins < COPY_SPINS; spins++) {
                Thread.onSpinWait();
            }
            result.r1 = memory;
        }
        pool.release(slot);
    }

    /** The unmap, and the reuse of the memory. */
    @Actor
    public void unmap() {
        unmapped = true;
        if (pool.awaitNoneFor(LH, System.nanoTime() + DEADLINE_NS)) {
            memory = NEXT;
        }
    }
}
