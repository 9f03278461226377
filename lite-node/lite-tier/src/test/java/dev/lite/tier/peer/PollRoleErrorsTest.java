package dev.lite.tier.peer;

import static dev.lite.tier.peer.PollRoleFixture.FOREVER_NS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import dev.lite.tier.peer.QueueFabric.Flag;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Errors in polls, in the driver and in conditions: the role is free for others, the standby thread lives. */
class PollRoleErrorsTest {
    @AutoClose
    private final PollRoleFixture fixture = new PollRoleFixture();

    private final QueueFabric fabric = fixture.fabric;
    private final PollRole role = fixture.role;

    @Test
    void anErrorInAPollEndsNeitherTheStandbyThreadNorTheWaitOfACaller() {
        role.start();
        for (int i = 0; i < 3; i++) {
            for (Thread.Builder builder : List.of(Thread.ofVirtual(), Thread.ofPlatform())) {
                Flag flag = new Flag();
                AtomicReference<@Nullable Boolean> over = new AtomicReference<>();
                Thread thread = builder.start(() -> over.set(role.await(flag, System.nanoTime() + FOREVER_NS, false)));
                fabric.defect.set(new AssertionError("a defect in a callback"));
                fabric.put(flag);
                Waits.join(thread);
                assertThat(over).hasValue(true);
            }
        }
    }

    @Test
    void anErrorInArmLeavesTheRoleToTheStandbyThread() {
        fixture.takeFirst();
        fabric.armDefect.set(new AssertionError("a defect of the driver"));
        role.release();
        putAndAwait();
        fabric.armDefect.set(new AssertionError("a defect of the driver"));
        putAndAwait(); // then the standby thread arms
        Waits.until("it has met the defect", () -> fabric.armDefect.get() == null);
        putAndAwait();
    }

    @Test
    void anErrorInDisarmKeepsNobodyFromTheRole() {
        fixture.takeFirst();
        role.release();
        fabric.disarmDefect.set(new AssertionError("a defect of the driver"));
        putAndAwait(); // the standby thread disarms
        assertThat(fabric.disarmDefect.get()).isNull();
        Waits.until("it has released the role", role::take);
        role.release();
        fabric.disarmDefect.set(new AssertionError("a defect of the driver"));
        assertThat(role.take()).isTrue();
        role.release();
        putAndAwait();
    }

    /** The standby thread takes the event. */
    private void putAndAwait() {
        Flag flag = new Flag();
        fabric.put(flag);
        Waits.until("the standby thread has polled", flag::isOver);
    }

    /** A wait whose condition can be asked only so often, as on a stack that is nearly full. */
    private static class Failing extends Flag {
        private final AtomicInteger left;

        Failing(int asked) {
            left = new AtomicInteger(asked);
        }

        @Override
        protected boolean isOver() {
            if (left.decrementAndGet() < 0) {
                throw new StackOverflowError("on purpose");
            }
            return super.isOver();
        }
    }

    private void expectFailure(PollWaiter failing, boolean held) {
        assertThatThrownBy(() -> role.await(failing, System.nanoTime() + FOREVER_NS, held))
                .isInstanceOf(StackOverflowError.class);
        Waits.until("the role is free", role::take);
        role.release();
    }

    /** Else nobody would poll any more. */
    @Test
    void aThreadWhoseConditionFailsDoesNotKeepTheRole() {
        fixture.takeFirst();
        role.release();
        for (int asked = 0; asked < 4; asked++) {
            assertThat(role.take()).isTrue();
            expectFailure(new Failing(asked), true);
            expectFailure(new Failing(asked), false);
        }
    }

    @Test
    void aThreadWhoseConditionFailsWhenItHasJustTakenTheRoleDoesNotKeepIt() {
        fixture.takeFirst();
        expectFailure(
                new Failing(3) {
                    @Override
                    protected boolean isOver() {
                        boolean over = super.isOver();
                        if (super.left.get() == 0) {
                            role.release(); // it looks, and takes it next
                        }
                        return over;
                    }
                },
                false);
    }

    /** The JVM throws the same object again when it has no memory for another one. */
    @Test
    void aMessageThatFailsWithTheSameErrorEndsNeitherTheStandbyThreadNorTheWaitOfACaller() {
        fixture.takeFirst();
        AssertionError error = new AssertionError("on purpose");
        fabric.nameDefect = error;
        fabric.defect.set(error);
        Flag flag = new Flag();
        fabric.put(new Flag());
        fabric.put(flag);
        assertThat(role.await(flag, System.nanoTime() + FOREVER_NS, true)).isTrue();
        fabric.defect.set(error);
        putAndAwait();
        fabric.nameDefect = null;
    }

    @Nested
    @Isolated("it replaces the process' handler of uncaught exceptions")
    class WithoutMemoryForAReport {
        @Test
        void anErrorInAPollEndsNeitherTheStandbyThreadNorTheWaitOfACaller() {
            Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
            Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
                throw new OutOfMemoryError("no memory for a report, on purpose");
            });
            try {
                role.start();
                for (Thread.Builder builder : List.of(Thread.ofVirtual(), Thread.ofPlatform())) {
                    Flag flag = new Flag();
                    AtomicReference<@Nullable Boolean> over = new AtomicReference<>();
                    fabric.defect.set(new OutOfMemoryError("on purpose"));
                    Thread thread =
                            builder.start(() -> over.set(role.await(flag, System.nanoTime() + FOREVER_NS, false)));
                    fabric.put(new Flag());
                    Waits.until("a thread has polled", () -> fabric.defect.get() == null);
                    fabric.put(flag);
                    Waits.join(thread);
                    assertThat(over).hasValue(true);
                }
            } finally {
                Thread.setDefaultUncaughtExceptionHandler(before);
            }
        }
    }
}
