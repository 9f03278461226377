package dev.lite.system.hostile;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.testing.Waits;
import java.util.concurrent.atomic.AtomicLong;

/** A well-behaved application: one thread that writes, reads back and compares. */
final class Neighbour implements AutoCloseable {
    private final Lite lite;
    private final LmrHandle memory;
    private final Thread thread;
    private final AtomicLong operations = new AtomicLong();
    private volatile boolean closed;
    private volatile String wrong = "";

    /** @param lite its session, which it closes */
    Neighbour(Lite lite) {
        this.lite = lite;
        memory = lite.memory().malloc(LmrSpec.of(4096));
        thread = Thread.ofPlatform().daemon().name("neighbour").start(this::run);
    }

    private void run() {
        long value = 0;
        try {
            while (!closed) {
                value++;
                memory.putLong(64, value);
                long read = memory.getLong(64);
                if (read != value) {
                    wrong = "read %d after writing %d".formatted(read, value);
                }
                operations.incrementAndGet();
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
        return operations.get();
    }

    @Override
    public void close() {
        closed = true;
        Waits.until("the neighbour has stopped", () -> !thread.isAlive());
        lite.close();
    }
}
