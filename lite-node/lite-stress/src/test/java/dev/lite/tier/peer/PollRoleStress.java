package dev.lite.tier.peer;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * One thread releases the poll role while another, which found it held, is about to park. There is no standby thread and no
 * event, so the second thread's condition holds only after it polls: it must see that the role is free, or be woken as the
 * successor. The first result says whether it polled, the second whether the role was free afterwards.
 */
@JCStressTest
@Outcome(
        id = "1, 1",
        expect = Expect.ACCEPTABLE,
        desc = "It polled: it took the free role or became the successor, and released the role.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc =
                "It slept until its deadline although the role was free (0, 1), or the role stayed held (the second is 0).")
@State
public class PollRoleStress {
    /** Longer than a busy machine keeps a thread that can run from its processor; one second was not. */
    private static final long DEADLINE_NS = 10_000_000_000L;

    /** Delays the release by a varying number of polls, so that the threads meet at different points. A power of two. */
    private static final int LATE_MAX = 64;

    private static int count; // lost updates do not matter

    private final Waiter waiter = new Waiter();
    private final PollRole role = new PollRole(new PolledFabric(waiter, count++ & (LATE_MAX - 1)), 0);

    /** A role whose fabric has no events, for tests of other things. */
    static PollRole unpolled() {
        return new PollRole(new PolledFabric(new Waiter(), 0), 0);
    }

    /** The role is held when the two begin. */
    public PollRoleStress() {
        role.take();
    }

    /** Leaves the role. */
    @Actor
    public void release() {
        role.release();
    }

    /** Waits for a condition that only its own poll fulfils. */
    @Actor
    public void follow(II_Result result) {
        long deadlineNs = System.nanoTime() + DEADLINE_NS;
        boolean polled = role.await(waiter, deadlineNs, false);
        // A thread woken by its deadline polls, too, but that is too late.
        result.r1 = polled && deadlineNs - System.nanoTime() > 0 ? 1 : 0;
    }

    /** Checks that the role is free. */
    @Arbiter
    public void check(II_Result result) {
        result.r2 = role.take() ? 1 : 0;
    }

    private static final class Waiter extends PollWaiter {
        private volatile boolean over;

        @Override
        protected boolean isOver() {
            return over;
        }
    }

    /** Reports no events when armed, so that the thread that releases the role does not poll. */
    private record PolledFabric(Waiter waiter, int late) implements Fabric {
        @Override
        public int poll(int limit) {
            waiter.over = true;
            return 1;
        }

        @Override
        public boolean arm() {
            for (int polls = 0; polls < late; polls++) {
                Thread.onSpinWait();
            }
            return true;
        }

        @Override
        public void disarm() {}

        @Override
        public void await(long timeoutNs) {}

        @Override
        public void awaitArmed(long timeoutNs) {}

        @Override
        public void wakeup() {}

        @Override
        public void close() {}

        @Override
        public String name() {
            return "polled";
        }

        @Override
        public String localAddress() {
            return "";
        }

        @Override
        public FabricCapabilities capabilities() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void register(FabricMemory memory) {
            throw new UnsupportedOperationException();
        }

        @Override
        public FabricEndpoint connect(String address) {
            throw new UnsupportedOperationException();
        }
    }
}
