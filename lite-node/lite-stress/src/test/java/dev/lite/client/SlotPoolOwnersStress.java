package dev.lite.client;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads want the only slot, which is in quarantine and whose command is complete. The results are what each got. */
@JCStressTest
@Outcome(
        id = {"0, -1", "-1, 0"},
        expect = Expect.ACCEPTABLE,
        desc = "One freed the slot and one of them got it.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Both own the slot, or none got it although its command is complete.")
@State
public class SlotPoolOwnersStress {
    private final SlotPool pool = new SlotPool(1, slot -> true);

    /** A pool whose slot is in quarantine. */
    public SlotPoolOwnersStress() {
        pool.quarantine(pool.tryAcquire());
    }

    /** The first thread; it does not wait. */
    @Actor
    public void first(II_Result result) {
        result.r1 = pool.acquire(System.nanoTime());
    }

    /** The second thread; it does not wait. */
    @Actor
    public void second(II_Result result) {
        result.r2 = pool.acquire(System.nanoTime());
    }
}
