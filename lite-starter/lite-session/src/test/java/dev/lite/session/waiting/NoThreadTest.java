package dev.lite.session.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.os.FutexWords;
import dev.lite.testing.Waits;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A wait for which the platform thread cannot be started. */
class NoThreadTest {
    private static final long LONG_NS = Waits.seconds(60).toNanos();
    private static final int FAILED = 3;
    private static final int LATER = 5;

    private final AtomicBoolean noMemory = new AtomicBoolean(true);
    private final AtomicInteger looksAtTheFailed = new AtomicInteger();
    private final AtomicBoolean over = new AtomicBoolean();
    private final VirtualWaits waits = new VirtualWaits(new Slots(), 50, new Starter());

    private final class Slots implements VirtualWaits.Words {
        @Override
        public boolean isOver(int slot) {
            if (slot == FAILED) {
                looksAtTheFailed.incrementAndGet();
            }
            return over.get();
        }

        @Override
        public boolean announce(int slot, FutexWords words) {
            return false; // look again
        }
    }

    private final class Starter implements ThreadFactory {
        @Override
        public Thread newThread(Runnable task) {
            if (noMemory.get()) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            return Thread.ofPlatform().daemon().unstarted(task);
        }
    }

    /** The owner returns the slot then, and its memory may be unmapped. */
    @Test
    void nobodyLooksAtItsSlotLater() {
        assertThatThrownBy(() -> waits.await(FAILED, System.nanoTime() + LONG_NS))
                .isInstanceOf(OutOfMemoryError.class);
        noMemory.set(false);
        Thread later = Thread.ofVirtual().start(() -> waits.await(LATER, System.nanoTime() + LONG_NS));
        Waits.until("it waits", () -> later.getState() == Thread.State.WAITING);
        over.set(true);
        Waits.join(later);
        assertThat(looksAtTheFailed).hasValue(0);
        waits.lose();
    }
}
