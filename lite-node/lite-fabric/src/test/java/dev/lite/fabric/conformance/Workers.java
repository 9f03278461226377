package dev.lite.fabric.conformance;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.function.IntConsumer;

/** Platform threads that start together. An exception in one of them fails the case. */
final class Workers {
    private final List<Thread> threads = new ArrayList<>();
    private final Queue<Throwable> thrown = new ConcurrentLinkedQueue<>();

    private Workers() {}

    static Workers start(int count, IntConsumer body) {
        Workers workers = new Workers();
        CyclicBarrier start = new CyclicBarrier(count);
        for (int i = 0; i < count; i++) {
            int number = i;
            workers.threads.add(Thread.ofPlatform().daemon().name("worker-" + i).start(() -> {
                try {
                    start.await();
                    body.accept(number);
                } catch (RuntimeException | Error | BrokenBarrierException e) {
                    workers.thrown.add(e);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }));
        }
        return workers;
    }

    static void run(int count, IntConsumer body) {
        start(count, body).join();
    }

    boolean areRunning() {
        return threads.stream().anyMatch(Thread::isAlive);
    }

    void join() {
        threads.forEach(TestNode::join);
        for (Throwable throwable : thrown) {
            throw new AssertionError("in a worker: " + throwable, throwable);
        }
    }
}
