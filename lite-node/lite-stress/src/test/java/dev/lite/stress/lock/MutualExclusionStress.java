package dev.lite.stress.lock;

import dev.lite.api.HeldLock;
import dev.lite.api.LtLock;
import java.util.Optional;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Two sessions take one lock: one by {@code acquire}, the other by {@code tryAcquire} and, when that fails, by {@code acquire}.
 * Each adds to plain fields while it holds the lock. The first result is the number of additions that are not lost; the second
 * is 1 when the later holder had the larger fencing token.
 */
@JCStressTest
@Outcome(
        id = "2, 1",
        expect = Expect.ACCEPTABLE,
        desc = "One held the lock after the other, and saw what the first had written.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Both held the lock at once, a write was lost, or the tokens did not grow.")
@State
public class MutualExclusionStress {
    private static final LtLock FIRST = LockNode.attach("first").sync().lock("exclusion");
    private static final LtLock SECOND = LockNode.attach("second").sync().lock("exclusion");

    // Plain fields on purpose: only the lock orders accesses to them.
    private int additions;
    private long token;
    private boolean grew = true;

    /** Acquires. */
    @Actor
    public void acquire() {
        try (HeldLock held = FIRST.acquire(LockNode.DEADLINE)) {
            add(held);
        }
    }

    /** Tries, then acquires. */
    @Actor
    public void tryFirst() {
        Optional<HeldLock> tried = SECOND.tryAcquire();
        try (HeldLock held = tried.isPresent() ? tried.get() : SECOND.acquire(LockNode.DEADLINE)) {
            add(held);
        }
    }

    private void add(HeldLock held) {
        additions++;
        grew &= held.fencingToken() > token;
        token = held.fencingToken();
    }

    /** Called after both are done. */
    @Arbiter
    public void read(II_Result result) {
        result.r1 = additions;
        result.r2 = grew ? 1 : 0;
    }
}
