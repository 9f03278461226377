package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
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

    /** A queue whose operations take this room in pieces. */
    private FairQueue inPieces(long piece) {
        return new FairQueue(new FairQueue.Room() {
            @Override
            public boolean take(long cost) {
                if (room <= 0) {
                    return false;
                }
                room -= cost;
                return true;
            }

            @Override
            public long piece() {
                return piece;
            }

            @Override
            public void giveBack(long cost) {
                room += cost;
            }
        });
    }

    private static void give(FairQueue queue, Runnable more, int times) {
        for (int time = 0; time < times; time++) {
            more.run();
            queue.pump();
        }
    }

    @Test
    void anOperationInDebtTakesTurnsWithTheOthers() {
        FairQueue pieces = inPieces(100);
        room = 1;
        assertThat(pieces.tryEnter("large", 1_000_000)).isTrue();
        Application small = new Application(pieces, 1, 50);
        for (int step = 0; step < 2_000; step++) {
            room += 50;
            pieces.pump();
            small.step(pieces);
        }
        assertThat(small.served).as("half of it").isBetween(49_000L, 51_000L);
    }

    @Test
    void aSecondLongOperationDuringADebtBeginsWhenItHasAllItsRoom() {
        FairQueue pieces = inPieces(100);
        room = 1;
        assertThat(pieces.tryEnter("first", 1_000_000)).isTrue();
        FairQueue.Ticket second = pieces.enter("second", 1_000);
        give(pieces, () -> room += 100, 18);
        assertThat(second.isGranted()).isFalse();
        give(pieces, () -> room += 100, 5);
        assertThat(second.isGranted()).isTrue();
    }

    @Test
    void aSecondLongOperationBeginsWhenTheDebtIsPaid() {
        FairQueue pieces = inPieces(100);
        room = 1;
        assertThat(pieces.tryEnter("first", 1_000)).isTrue();
        FairQueue.Ticket second = pieces.enter("second", 1_000_000);
        give(pieces, () -> room += 100, 24);
        assertThat(second.isGranted()).isTrue();
    }

    @Test
    void aLongOperationThatGivesUpLeavesItsRoomToTheOthers() {
        FairQueue pieces = inPieces(100);
        room = 1;
        assertThat(pieces.tryEnter("first", 1_000)).isTrue();
        FairQueue.Ticket second = pieces.enter("second", 1_000_000);
        give(pieces, () -> room += 100, 6);
        assertThat(pieces.await(second, Deadline.in(Duration.ZERO))).isFalse();
        give(pieces, () -> room += 100, 4);
        assertThat(pieces.isEmpty()).as("the first one has paid").isTrue();
    }

    /** Else an application that ends its session after each operation would never pay. */
    @Test
    void aDebtOutlivesItsApplication() {
        FairQueue pieces = inPieces(100);
        room = 1;
        assertThat(pieces.tryEnter("first", 1_000)).isTrue();
        pieces.forget("first");
        FairQueue.Ticket next = pieces.enter("first", 1_000);
        give(pieces, () -> room += 100, 9);
        assertThat(next.isGranted()).isFalse();
        give(pieces, () -> room += 100, 11);
        assertThat(next.isGranted()).isTrue();
    }

    @Test
    void whatARefusedOperationOwesIsForgiven() {
        FairQueue pieces = inPieces(100);
        room = 1;
        assertThat(pieces.tryEnter("first", 1_000_000)).isTrue();
        pieces.giveBack("first", 1_000_000);
        assertThat(pieces.isEmpty()).isTrue();
        assertThat(room).isOne();
        assertThat(pieces.tryEnter("second", 100)).isTrue();
    }

    /** An application for which there is no memory. */
    private static final class WithoutMemory {
        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            throw new OutOfMemoryError("on purpose");
        }
    }

    @Test
    void anOperationThatFindsNoMemoryTakesNoRoom() {
        room = 10;
        assertThatThrownBy(() -> queue.tryEnter(new WithoutMemory(), 4)).isInstanceOf(OutOfMemoryError.class);
        assertThat(room).isEqualTo(10);
        assertThat(queue.isEmpty()).isTrue();
        assertThat(queue.tryEnter("next", 10)).isTrue();
    }

    /** Else it would take its room later, and nobody would give that back. */
    @Test
    void anOperationWhoseStackOverflowsInTheQueueLeavesIt() {
        boolean[] fails = {true};
        FairQueue failing = new FairQueue(cost -> {
            if (fails[0]) {
                throw new StackOverflowError("on purpose");
            }
            room -= cost;
            return true;
        });
        room = 10;
        assertThatThrownBy(() -> failing.enter("first", 4)).isInstanceOf(StackOverflowError.class);
        assertThat(failing.isEmpty()).isTrue();
        fails[0] = false;
        failing.pump();
        assertThat(room).isEqualTo(10);
        assertThat(failing.enter("first", 4).isGranted()).isTrue();
    }

    /** It has its room, which only its end gives back. */
    @Test
    void anOperationThatWasGrantedBeginsThoughTheQueueFailsForAnother() {
        boolean[] fails = {false};
        FairQueue failing = new FairQueue(cost -> {
            if (cost == 7 && fails[0]) {
                throw new StackOverflowError("on purpose");
            }
            return cost != 7;
        });
        assertThat(failing.tryEnter("other", 100)).isTrue();
        FairQueue.Ticket waiting = failing.enter("other", 7);
        fails[0] = true;
        assertThat(failing.enter("first", 4).isGranted()).isTrue();
        assertThat(waiting.isGranted()).isFalse();
        assertThat(failing.isEmpty()).isFalse();
    }

    private record Waiting(FairQueue.Ticket ticket, long cost) {}

    @Test
    void operationsAreNeverFurtherAheadOfTheirRoomThanTheLargestOne() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        FairQueue pieces = inPieces(100);
        List<Waiting> waiting = new ArrayList<>();
        long begun = 0;
        long given = 0;
        for (int step = 0; step < 20_000; step++) {
            String application = "application %d".formatted(random.nextInt(5));
            long cost = 1L + random.nextInt(random.nextInt(10) == 0 ? 10_000 : 200);
            switch (random.nextInt(8)) {
                case 0 -> {
                    if (pieces.tryEnter(application, cost)) {
                        begun += cost;
                    }
                }
                case 1 -> waiting.add(new Waiting(pieces.enter(application, cost), cost));
                case 2 -> {
                    if (!waiting.isEmpty()) {
                        Waiting one = waiting.remove(random.nextInt(waiting.size()));
                        begun += pieces.await(one.ticket, Deadline.in(Duration.ZERO)) ? one.cost : 0;
                    }
                }
                case 3 -> pieces.forget(application);
                default -> {
                    room += 100;
                    given += 100;
                    pieces.pump();
                }
            }
            assertThat(begun).as("seed %d step %d", seed, step).isLessThanOrEqualTo(given + 10_000 + 100);
        }
        assertThat(begun).isPositive();
    }
}
