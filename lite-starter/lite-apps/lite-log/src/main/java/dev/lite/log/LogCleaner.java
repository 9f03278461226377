package dev.lite.log;

import dev.lite.api.HeldLock;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import java.lang.System.Logger;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Frees the oldest segments of a log, on a thread of its own. Of all cleaners of a log, the one that holds the lock {@code
 * NAME.log/cleaner} works. Started by {@link LiteLog#startCleaner}. Any thread may call its methods.
 */
public final class LogCleaner implements AutoCloseable {
    private static final Duration ELECTION = Duration.ofSeconds(2);
    private static final Duration PAUSE = Duration.ofMillis(100);
    private static final Duration PAUSE_AFTER_ERROR = Duration.ofSeconds(1);
    /** How far back a new cleaner, or a delete, looks for what was left; a look asks the directory. */
    private static final int LEFT_MAX = 1024;

    private final Metadata metadata;
    private final LtMemory memory;
    private final LogLocks locks;
    private final LogSpec spec;
    private final Consumers consumers;
    private final CountDownLatch end = new CountDownLatch(1);
    private final Thread thread;
    private final AtomicLong removed = new AtomicLong();
    private final CompletableFuture<String> sessionEnded;
    private volatile boolean elected;

    /** @param sessionEnded completes when the session has ended for ever */
    LogCleaner(
            Metadata metadata,
            LtMemory memory,
            CompletableFuture<String> sessionEnded,
            LogLocks locks,
            LogSpec spec,
            Consumers consumers) {
        this.metadata = metadata;
        this.memory = memory;
        this.sessionEnded = sessionEnded;
        this.locks = locks;
        this.spec = spec;
        this.consumers = consumers;
        thread = Thread.ofVirtual().name("lite-log cleaner of " + metadata.log).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** Whether it was closed, or has met an end of the log or of the session. */
    boolean hasEnded() {
        return end.getCount() == 0 || !thread.isAlive();
    }

    /** Whether this cleaner is the one that works. */
    public boolean isElected() {
        return elected;
    }

    /** How many segments this cleaner has removed. */
    public long segmentsRemoved() {
        return removed.get();
    }

    private void run() {
        while (end.getCount() > 0) {
            try (HeldLock held = locks.cleaner(ELECTION)) {
                elected = true;
                removeLeftSegments();
                while (held.isHeld() && !ended(PAUSE)) {
                    round(held);
                }
            } catch (LiteTimeoutException e) {
                // Another cleaner works, or the node is away.
            } catch (LmrFreedException | LogStateException e) {
                return; // the log was closed or deleted
            } catch (RuntimeException | Error e) { // also an Error: the log would not be cleaned any more
                elected = false; // the lock was released
                if (isOver()) {
                    return;
                }
                System.getLogger(LogCleaner.class.getName())
                        .log(Logger.Level.WARNING, "The cleaner of log {0} pauses: {1}", metadata.log, e);
                if (ended(PAUSE_AFTER_ERROR)) {
                    return;
                }
            } finally {
                elected = false;
            }
        }
    }

    private boolean isOver() {
        return end.getCount() == 0 || sessionEnded.isDone();
    }

    private boolean ended(Duration pause) {
        try {
            return end.await(pause.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return true; // close interrupts
        }
    }

    /** Removes what may be removed now. */
    private void round(HeldLock held) {
        long first = metadata.first();
        while (held.isHeld() && isTooLarge(first, metadata.last()) && remove(first)) {
            first++;
        }
    }

    private boolean isTooLarge(long first, long last) {
        return first < last && (bytes(last - first) >= spec.retentionBytes() || isBeyondBound(first, last));
    }

    private boolean isBeyondBound(long first, long last) {
        return spec.boundBytes() > 0 && bytes(last - first + 1) > spec.boundBytes();
    }

    /** Removes the first segment, if no consumer needs it. Finds out first whether this principal may free it. */
    private boolean remove(long first) {
        try (LmrHandle handle = memory.map(metadata.segmentName(first), Permission.MASTER)) {
            boolean advanced = advance(first);
            if (advanced) {
                removed.incrementAndGet();
                if (free(handle)) {
                    metadata.advanceFreedBelow(first, first + 1);
                }
            }
            return advanced;
        } catch (LmrNotFoundException e) {
            if (metadata.state() == Metadata.STATE_DELETED) {
                throw new LogStateException("the log \"%s\" was deleted".formatted(metadata.log));
            }
            boolean advanced = advance(first); // a master has freed it, for example because it was lost
            if (advanced) {
                metadata.advanceFreedBelow(first, first + 1);
            }
            return advanced;
        }
    }

    private boolean advance(long first) {
        return locks.underTable(() -> {
            boolean isFree = LogPosition.segment(consumers.oldestPosition()) > first;
            return (isFree || isBeyondBound(first, metadata.last())) && metadata.advanceFirst(first);
        });
    }

    private long bytes(long segments) {
        return segments * spec.segmentBytes();
    }

    private void removeLeftSegments() {
        long freedBelow = metadata.freedBelow();
        long first = metadata.first();
        long firstStaying = first;
        for (long number = firstLeft(metadata); number < first; number++) {
            try (LmrHandle handle = memory.map(metadata.segmentName(number), Permission.MASTER)) {
                if (!free(handle)) {
                    firstStaying = Math.min(firstStaying, number);
                }
            } catch (LmrNotFoundException e) {
                // Its predecessor had freed it.
            } catch (LiteException e) {
                if (isOver()) {
                    throw e;
                }
                firstStaying = Math.min(firstStaying, number);
                System.getLogger(LogCleaner.class.getName())
                        .log(Logger.Level.WARNING, "Segment {0} of log {1} stays: {2}", number, metadata.log, e);
            }
        }
        metadata.advanceFreedBelow(freedBelow, firstStaying);
    }

    /** The first segment that a cleaner may have left, because it was killed or a node did not answer. */
    static long firstLeft(Metadata metadata) {
        return Math.max(metadata.freedBelow(), metadata.first() - LEFT_MAX);
    }

    /** Returns false if it may not be free yet: the nodes free it in the background, or the next cleaner does. */
    private static boolean free(LmrHandle handle) {
        try {
            handle.free();
            return true;
        } catch (LmrFreedException e) {
            return true; // by another process
        } catch (LiteTimeoutException e) {
            return false;
        }
    }

    /** Ends this cleaner; another one follows. A second call does nothing. */
    @Override
    public void close() {
        end.countDown();
        thread.interrupt();
    }
}
