package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Priority;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A link while nobody waits for room. */
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
}
