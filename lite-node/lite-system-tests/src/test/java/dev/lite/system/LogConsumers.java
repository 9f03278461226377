package dev.lite.system;

import dev.lite.api.LiteException;
import dev.lite.api.SessionLostException;
import dev.lite.log.ConsumerLostException;
import dev.lite.log.LiteLog;
import dev.lite.log.LogReader;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Consumers of a log that follow its end, and commit their positions. They open again after their session was lost. One thread starts and
 * ends them.
 */
final class LogConsumers implements AutoCloseable {
    private static final Duration ROUND = Duration.ofMillis(100);

    private final List<Thread> threads = new ArrayList<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile boolean stop;
    private volatile boolean finish;

    void start(LiteLog log, String name, CommitChecker.Copy copy) {
        LogReader reader = log.consumer(name, 0);
        threads.add(Thread.ofPlatform().daemon().name("consumer " + name).start(() -> {
            try {
                long position = follow(reader, copy);
                while (position >= 0) {
                    position = followAgain(log, name, position, copy);
                }
            } catch (RuntimeException | AssertionError e) {
                failure.compareAndSet(null, e);
            }
        }));
    }

    /** Continues behind what the copy has, which may be more than was committed. */
    private long followAgain(LiteLog log, String name, long position, CommitChecker.Copy copy) {
        try {
            LogReader reader = log.consumer(name, 0);
            reader.seek(position);
            return follow(reader, copy);
        } catch (LiteException e) {
            System.out.println("a consumer opens again: " + e);
            Waits.pass(ROUND);
            return stop ? -1 : position;
        }
    }

    /** Returns -1 at the end, or the position of a consumer that has lost its name. */
    private long follow(LogReader reader, CommitChecker.Copy copy) {
        try (reader) {
            while (!stop) {
                if (!round(reader, copy)) {
                    return -1;
                }
            }
            return -1;
        } catch (SessionLostException | ConsumerLostException e) {
            System.out.println("a consumer was lost: " + e);
            return reader.position();
        }
    }

    /** Returns false at the end of the log, if all writers had ended before this round. */
    private boolean round(LogReader reader, CommitChecker.Copy copy) {

        boolean last = finish;
        try {
            int given = reader.await(copy::add, 500, ROUND);
            reader.commit();
            return !last || given > 0;
        } catch (SessionLostException e) {
            throw e;
        } catch (LiteException e) {
            System.out.println("a consumer tries again: " + e);
            Waits.pass(ROUND);
            return true;
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
