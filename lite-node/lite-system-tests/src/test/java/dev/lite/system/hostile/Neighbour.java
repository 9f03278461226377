package dev.lite.system.hostile;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** A well-behaved application: threads that each write, read back and compare. */
final class Neighbour implements AutoCloseable {
    private final Lite lite;
    private final LmrHandle memory;
    private final List<Thread> threads = new ArrayList<>();
    private final LongAdder operations = new LongAdder();
    private volatile boolean closed;
    private volatile String wrong = "";

    /** @param lite its session, which it closes */
    Neighbour(Lite lite) {
        this(lite, 1);
    }

    Neighbour(Lite lite, int busy) {
        this.lite = lite;
        memory = lite.memory().malloc(LmrSpec.of(64L * (busy + 1)));
        for (int thread = 1; thread <= busy; thread++) {
            long offset = 64L * thread;
            threads.add(Thread.ofPlatform().daemon().name("neighbour").start(() -> run(offset)));
        }
    }

    private void run(long offset) {
        long value = 0;
        try {
            while (!closed) {
                value++;
                memory.putLong(offset, value);
                long read = memory.getLong(offset);
                if (read != value) {
                    wrong = "read %d after writing %d".formatted(read, value);
                }
                operations.increment();
            }
        } catch (RuntimeException e) {
            if (!closed) {
                wrong = e.toString();
            }
        }
    }

    /** What went wrong; empty: nothing. */
    String wrong() {
        return wrong;
    }

    /** Operations so far. */
    long operations() {
        return operations.sum();
    }

    @Override
    public void close() {
        closed = true;
        Waits.until("the neighbour has stopped", () -> threads.stream().noneMatch(Thread::isAlive));
        lite.close();
    }
}
