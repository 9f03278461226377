package dev.lite.simulate.toy;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Five workers that park, sleep, spin, lock, wait for each other and lose updates of each other. */
@SuppressWarnings({"NonAtomicVolatileUpdate", "WaitNotInLoop"}) // faults on purpose
public final class Toy {
    /** How many workers there are. */
    public static final int WORKERS = 5;

    private static final int ROUNDS = 12;

    private final Object monitor = new Object();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Semaphore permits = new Semaphore(2);
    private final LinkedBlockingQueue<Integer> mail = new LinkedBlockingQueue<>();
    private final AtomicInteger turn = new AtomicInteger();
    private final AtomicInteger done = new AtomicInteger();
    private final Set<Object> keys = ConcurrentHashMap.newKeySet();
    private final List<String> seen = new ArrayList<>();
    private volatile int unguarded;

    /** How many workers are through. */
    public int done() {
        return done.get();
    }

    /** What the workers saw, in the order in which they did. */
    public List<String> seen() {
        return List.copyOf(seen);
    }

    /** What is left of updates that nothing guards. */
    public int unguarded() {
        return unguarded;
    }

    /** One worker. */
    public void work(int number) {
        try {
            Thread helper = Thread.ofPlatform().name("helper").start(() -> spinInTurn(number));
            CompletableFuture<Integer> later = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> {
                LockSupport.parkNanos(300_000);
                later.complete(number);
            });
            for (int round = 0; round < ROUNDS; round++) {
                round(number, round);
            }
            see(number + " later " + later.get(1, TimeUnit.SECONDS) + " " + UUID.randomUUID());
            helper.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (java.util.concurrent.ExecutionException | java.util.concurrent.TimeoutException e) {
            throw new IllegalStateException(e);
        }
        done.incrementAndGet();
    }

    private void spinInTurn(int number) {
        for (int i = 0; i < ROUNDS; i++) {
            long endNs = System.nanoTime() + 20_000;
            while (turn.get() % WORKERS != number && System.nanoTime() < endNs) {
                Thread.onSpinWait();
            }
            turn.incrementAndGet();
            unguarded = unguarded + 1;
        }
    }

    private void round(int number, int round) throws InterruptedException {
        synchronized (monitor) {
            if (round % 4 == 0) {
                LockSupport.parkNanos(10_000); // the others wait for the monitor
            }
            if (round % 5 == 0) {
                monitor.wait(1);
            } else {
                monitor.notifyAll();
            }
        }
        lock.lock();
        try {
            boolean signalled = changed.await(100, TimeUnit.MICROSECONDS);
            changed.signalAll();
            see(number + "." + round + " " + signalled);
        } finally {
            lock.unlock();
        }
        if (permits.tryAcquire(20, TimeUnit.MICROSECONDS)) {
            LockSupport.parkNanos(50_000);
            permits.release();
        }
        keys.add(new Object());
        mail.add(number);
        see(number + " got " + mail.poll(5, TimeUnit.MICROSECONDS) + " of " + Set.of("a", "b", "c", "d"));
    }

    private void see(String what) {
        synchronized (seen) {
            seen.add(what);
        }
    }
}
