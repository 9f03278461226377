package dev.lite.system;

import dev.lite.api.LiteException;
import dev.lite.log.LiteLog;
import dev.lite.log.LogReader;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Consumers of a log that follow its end, and commit their positions. One thread starts and ends them. */
final class LogConsumers implements AutoCloseable {
    private static final Duration ROUND = Duration.ofMillis(100);

    private final List<Thread> threads = new ArrayList<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile boolean stop;
    private volatile boolean finish;

    void start(LiteLog log, String name, CommitChecker.Copy copy) {
        LogReader reader = log.consumer(name, 0);
        threads.add(Thread.ofPlatform().daemon().name("consumer " + name).start(() -> {
            try (reader) {
                follow(reader, copy);
            } catch (RuntimeException | AssertionError e) {
                failure.compareAndSet(null, e);
            }
        }));
    }

    private void follow(LogReader reader, CommitChecker.Copy copy) {
        while (!stop) {
            boolean last = finish;
            int given = 0;
            try {
                given = reader.await(copy::add, 500, ROUND);
                reader.commit();
            } catch (LiteException e) {
                System.out.println("a consumer tries again: " + e);
                last = false;
                Waits.pass(ROUND);
            }
            if (last && given == 0) {
                return; // all writers had ended before this round
            }
        }
    }

    /** Waits until the consumers have read what is there. The writers must have ended. */
    void finish() {
        finish = true;
        for (Thread thread : threads) {
            Waits.until(thread.getName() + " is at the end", Waits.seconds(60), () -> !thread.isAlive());
        }
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new AssertionError("a consumer failed", thrown);
        }
    }

    @Override
    public void close() {
        stop = true;
        threads.forEach(Waits::join);
    }
}
