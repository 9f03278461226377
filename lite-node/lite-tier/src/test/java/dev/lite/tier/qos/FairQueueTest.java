package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** No test waits: each step gives some room and asks which operations were granted. */
class FairQueueTest {
    private static final int STEPS = 4_000;
    private static final long ROOM_OF_STEP = 64 << 10;

    private long room;
    private final FairQueue queue = new FairQueue(cost -> {
        if (room <= 0) {
            return false;
        }
        room -= cost;
        return true;
    });

    /** An application whose threads each begin the next operation as soon as the last one was granted. */
    private static final class Application {
        final int bytes;
        final List<FairQueue.Ticket> threads = new ArrayList<>();
        long served;

        Application(FairQueue queue, int threads, int bytes) {
            this.bytes = bytes;
            for (int thread = 0; thread < threads; thread++) {
                this.threads.add(queue.enter(this, bytes));
            }
        }

        void step(FairQueue queue) {
            for (int thread = 0; thread < threads.size(); thread++) {
                if (threads.get(thread).isGranted()) {
                    served += bytes;
                    threads.set(thread, queue.enter(this, bytes));
                }
            }
        }
    }

    private List<Application> run(int[][] threadsAndBytes) {
        List<Application> all = new ArrayList<>();
        for (int[] one : threadsAndBytes) {
            all.add(new Application(queue, one[0], one[1]));
        }
        for (int step = 0; step < STEPS; step++) {
            room = Math.min(room + ROOM_OF_STEP, ROOM_OF_STEP);
            queue.pump();
            all.forEach(application -> application.step(queue));
        }
        return all;
    }

    @Test
    void tenApplicationsGetTheSameWhateverTheirThreadsAndSizes() {
        List<Application> all = run(new int[][] {
            {1, 64 << 10},
            {20, 64},
            {64, 4096},
            {2, 65_536},
            {300, 512},
            {8, 8192},
            {16, 4096},
            {4, 32_768},
            {64, 65_536},
            {64, 1024}
        });
        double mean = all.stream().mapToLong(one -> one.served).average().orElseThrow();
        for (Application one : all) {
            if (one.bytes * (long) one.threads.size() < ROOM_OF_STEP / all.size()) {
                continue; // it cannot ask for its share: its threads have too few bytes under way
            }
            assertThat(one.served / mean)
                    .as("%d threads, %d bytes", one.threads.size(), one.bytes)
                    .isBetween(0.8, 1.25);
        }
    }

    @Test
    void anApplicationThatWasAwaySavesNothingUp() {
        Application first = new Application(queue, 8, 4096);
        for (int step = 0; step < 1_000; step++) {
            room = 4096;
            queue.pump();
            first.step(queue);
        }
        Application late = new Application(queue, 8, 4096);
        long before = first.served;
        for (int step = 0; step < 1_000; step++) {
            room = 4096;
            queue.pump();
            first.step(queue);
            late.step(queue);
        }
        assertThat(late.served).isBetween(first.served - before - (512 << 10), first.served - before + (512 << 10));
    }

    @Test
    void nobodyOvertakesThoseWhoWait() {
        room = 0;
        FairQueue.Ticket waiting = queue.enter("first", 1);
        room = 10;
        assertThat(queue.tryEnter("second", 1)).isFalse();
        queue.pump();
        assertThat(waiting.isGranted()).isTrue();
        assertThat(queue.tryEnter("second", 1)).isTrue();
    }

    @Test
    void anOperationThatGivesUpLeavesTheQueue() {
        room = 0;
        FairQueue.Ticket late = queue.enter("first", 1);
        assertThat(queue.await(late, Deadline.in(Duration.ZERO))).isFalse();
        assertThat(queue.isEmpty()).isTrue();
        room = 1;
        assertThat(queue.tryEnter("second", 1)).as("its room is not lost").isTrue();
    }

    @Test
    void itCountsTheApplicationsThatWereServedSinceTheLastTime() {
        room = Long.MAX_VALUE;
        assertThat(queue.tryEnter("one", 1)).isTrue();
        assertThat(queue.tryEnter("one", 1)).isTrue();
        assertThat(queue.tryEnter("two", 1)).isTrue();
        assertThat(queue.takeActive()).isEqualTo(2);
        assertThat(queue.takeActive()).isZero();
        assertThat(queue.tryEnter("two", 1)).isTrue();
        assertThat(queue.takeActive()).isEqualTo(1);
    }
}
