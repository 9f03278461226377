package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Priority;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class LinkWindowTest {
    private static final long COST_MAX = 100 << 10;

    private final LinkWindow window = new LinkWindow();
    private final Object application = new Object();

    private record Transfer(Priority priority, long cost) {}

    private boolean tryEnter(Transfer transfer) {
        return window.tryEnter(application, transfer.priority(), transfer.cost());
    }

    private void leave(Transfer transfer) {
        window.leave(transfer.priority(), transfer.cost());
    }

    @Test
    void itIsFullWhenNoTransferCanBegin() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        List<Transfer> underWay = new ArrayList<>();
        List<Boolean> seen = new ArrayList<>();
        for (int step = 0; step < 20_000; step++) {
            Priority priority = random.nextBoolean() ? Priority.HIGH : Priority.LOW;
            Transfer next = new Transfer(priority, random.nextLong(1, COST_MAX));
            boolean full = window.isFull(priority);
            seen.add(full);
            assertThat(tryEnter(next))
                    .as("seed %d, step %d, %s", seed, step, next)
                    .isEqualTo(!full);
            if (!full) {
                underWay.add(next);
            }
            // Fills and empties in turn.
            boolean emptying = step / 100 % 2 == 0;
            for (int leaves = emptying ? 2 : random.nextInt(2); leaves > 0 && !underWay.isEmpty(); leaves--) {
                leave(underWay.remove(random.nextInt(underWay.size())));
            }
        }
        assertThat(seen).contains(true, false);
    }

    @Test
    void lowPriorityGetsATurnWhileHighPriorityAlwaysWaits() {
        Transfer high = new Transfer(Priority.HIGH, 64);
        int underWay = 0;
        while (tryEnter(high)) {
            underWay++;
        }
        assertThat(underWay).isEqualTo(LinkWindow.OPERATIONS_MAX);
        AtomicInteger lowEntered = new AtomicInteger();
        AtomicInteger highEntered = new AtomicInteger();
        int waiting = 3 * LinkWindow.HIGH_IN_A_ROW;
        List<Thread> threads = new ArrayList<>();
        threads.add(enters(new Transfer(Priority.LOW, 64), lowEntered));
        for (int thread = 0; thread < waiting; thread++) {
            threads.add(enters(high, highEntered));
        }
        for (int leaves = 0; leaves < 2 * LinkWindow.HIGH_IN_A_ROW; leaves++) {
            leave(high);
        }
        Waits.until("low priority begins", () -> lowEntered.get() == 1);
        for (int leaves = 0; leaves < LinkWindow.HIGH_IN_A_ROW + 1; leaves++) {
            leave(high);
        }
        threads.forEach(Waits::join);
        assertThat(highEntered).hasValue(waiting);
    }

    private Thread enters(Transfer transfer, AtomicInteger entered) {
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            if (window.enter(new Object(), transfer.priority(), transfer.cost(), Deadline.in(Duration.ofDays(1)))) {
                entered.incrementAndGet();
            }
        });
        Waits.until("it waits", () -> thread.getState() == Thread.State.TIMED_WAITING);
        return thread;
    }
}
