package dev.lite.tier.session;

import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** What an application of a random history serves: a function or a port, and the threads that receive from it. One thread plays the history. */
abstract class HistoryService {
    final HistoryApp app;
    final CallBook.Function function;
    final CallBook book;
    private final List<Thread> threads = new ArrayList<>();
    private final List<Interrupts> interrupts = new ArrayList<>();
    private volatile boolean closing;

    HistoryService(CallBook book, HistoryApp app, CallBook.Function function) {
        this.book = book;
        this.app = app;
        this.function = function;
    }

    /** A receiving thread. */
    interface Receiving {
        /** Receives until the end. Calls {@link Interrupts#check} after each receive. */
        void run(Random random, Interrupts its);
    }

    /** Starts 1 to {@code max} threads. The end of the constructor. */
    final void start(int max, Random random, Receiving receiving) {
        for (int i = random.nextInt(max); i >= 0; i--) {
            Random its = new Random(random.nextLong());
            int number = threads.size();
            Runnable task = () -> receiving.run(its, interrupts.get(number));
            Thread thread = random.nextBoolean()
                    ? Thread.ofVirtual().unstarted(task)
                    : Thread.ofPlatform().unstarted(task);
            threads.add(thread);
            interrupts.add(new Interrupts(thread, book));
        }
        threads.forEach(Thread::start);
    }

    /** Whether the end of the session or of the service is expected. */
    final boolean isClosing() {
        return closing;
    }

    /** Interrupts one of the threads, if there is one. */
    final void interruptOne(Random random) {
        if (!interrupts.isEmpty()) {
            interrupts.get(random.nextInt(interrupts.size())).interrupt();
        }
    }

    /** Before it or its application is closed. */
    final void announceClose() {
        closing = true;
    }

    /** Closes it. Its threads end soon. */
    final void close() {
        closing = true;
        closeNow();
    }

    abstract void closeNow();

    final void awaitThreads() {
        threads.forEach(Waits::join);
    }
}
