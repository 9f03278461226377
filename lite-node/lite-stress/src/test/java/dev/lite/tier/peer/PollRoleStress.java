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
 * One thread releases the poll role while another, which found it held, looks for it and then stops: because its
 * condition is true, or at its deadline. There is no standby thread here, so the last of the two
 * must have armed the fabric: otherwise no thread would see the next event. The first result says whether the fabric is armed at the end, the second whether
 * the role is free.
 */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The next event wakes the standby thread.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc = "The next event wakes nobody, and nobody is awake (0, 1), or the role stayed held (the second is 0).")
@State
public class PollRoleStress {
    /** Varies how long the threads look and how long arming takes, so that they meet at different points; a power of two. */
    private static final int LATE_MAX = 64;

    private static int count; // lost updates do not matter

    private final int late = count++ & (LATE_MAX - 1);
    private final PolledFabric fabric = new PolledFabric(late);
    private final PollRole role = new PollRole(fabric, late);
    private final Waiter waiter = new Waiter();

    /** A role whose fabric has no events, for tests of other things. */
    static PollRole unpolled() {
        return new PollRole(new PolledFabric(0), 0);
    }

    /** The role is held when the two begin. */
    public PollRoleStress() {
        role.take();
    }

    /** Leaves the role. */
    @Actor
    public void release() {
        for (int i = 0; i < late; i++) {
            Thread.onSpinWait();
        }
        waiter.over = true;
        role.release();
    }

    /** Looks for the role until its condition is true or it has looked for long enough. */
    @Actor
    public void look() {
        boolean unused = role.await(waiter, System.nanoTime(), false);
    }

    /** Checks that the fabric is armed and the role is free. */
    @Arbiter
    public void check(II_Result result) {
        result.r1 = fabric.armed ? 1 : 0;
        result.r2 = role.take() ? 1 : 0;
    }

    private static final class Waiter extends PollWaiter {
        private volatile boolean over;

        @Override
        protected boolean isOver() {
            return over;
        }
    }

    /** Has no events. */
    private static final class PolledFabric implements Fabric {
        private final int late;
        private volatile boolean armed;

        PolledFabric(int late) {
            this.late = late;
        }

        @Override
        public int poll(int limit) {
            return 0;
        }

        @Override
        public boolean arm() {
            for (int i = 0; i < late; i++) {
                Thread.onSpinWait();
            }
            armed = true;
            return true;
        }

        @Override
        public void disarm() {
            armed = false;
        }

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
