package dev.lite.client;

import java.util.concurrent.TimeUnit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A thread returns its slot while another waits until all slots are returned, to unmap the memory. */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "The slot was returned, and the waiting thread took it at once.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc = "0: the waiting thread missed the return. 2: it noticed only at its deadline; the wake-up was lost.")
@State
public class SlotPoolReturnStress {
    private static final long DEADLINE_NS = TimeUnit.SECONDS.toNanos(20);

    private final SlotPool pool = new SlotPool(1, slot -> false);
    private final int slot = pool.tryAcquire();

    /** A pool that is closed while a thread owns its slot. */
    public SlotPoolReturnStress() {
        pool.close();
    }

    /** The owner; half of the slots go into quarantine. */
    @Actor
    public void returnSlot() {
        if ((System.identityHashCode(this) & 1) == 0) {
            pool.release(slot);
        } else {
            pool.quarantine(slot);
        }
    }

    /** The thread that unmaps. */
    @Actor
    public void await(I_Result result) {
        long deadlineNs = System.nanoTime() + DEADLINE_NS;
        boolean returned = pool.awaitAllReturned(deadlineNs);
        boolean inTime = deadlineNs - System.nanoTime() > 0;
        result.r1 = returned ? inTime ? 1 : 2 : 0;
    }
}
