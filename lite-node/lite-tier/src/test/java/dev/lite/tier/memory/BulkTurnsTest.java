package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BulkTurnsTest {
    private final List<String> order = new CopyOnWriteArrayList<>();

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            assertThat(latch.await(Waits.seconds(20).toMillis(), TimeUnit.MILLISECONDS))
                    .isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void ownersTakeTurnsHoweverManyThreadsTheyHave() {
        BulkTurns turns = new BulkTurns(1);
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        threads.add(Thread.ofVirtual()
                .start(() -> turns.run("first", () -> {
                    held.countDown();
                    awaitUninterrupted(go);
                })));
        awaitUninterrupted(held);
        for (int i = 0; i < 4; i++) {
            threads.add(waiting(turns, "greedy"));
        }
        threads.add(waiting(turns, "other"));
        go.countDown();
        Waits.until("all have run", () -> threads.stream().noneMatch(Thread::isAlive));
        assertThat(order).containsExactly("greedy", "other", "greedy", "greedy", "greedy");
    }

    private Thread waiting(BulkTurns turns, String owner) {
        Thread thread = Thread.ofVirtual().start(() -> turns.run(owner, () -> order.add(owner)));
        Waits.until("it waits", () -> thread.getState() == Thread.State.WAITING);
        return thread;
    }

    @Test
    void noMorePiecesRunAtATimeThanAllowed() {
        BulkTurns turns = new BulkTurns(2);
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            String owner = "owner " + i % 3;
            threads.add(Thread.ofPlatform().start(() -> {
                for (int piece = 0; piece < 200; piece++) {
                    turns.run(owner, () -> {
                        most.accumulateAndGet(running.incrementAndGet(), Math::max);
                        running.decrementAndGet();
                    });
                }
            }));
        }
        Waits.until("all have run", () -> threads.stream().noneMatch(Thread::isAlive));
        assertThat(most.get()).isBetween(1, 2);
    }

    @Test
    void aPieceThatFailsGivesItsTurnBack() {
        BulkTurns turns = new BulkTurns(1);
        for (int i = 0; i < 3; i++) {
            try {
                turns.run("owner", () -> {
                    throw new IllegalStateException("a defect");
                });
            } catch (IllegalStateException expected) {
                order.add(String.valueOf(expected.getMessage()));
            }
        }
        assertThat(order).hasSize(3);
    }
}
