package dev.lite.log;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Commits frames: reserves by one fetch-add, fills by one write, commits by one test-set. After errors that may pass it repeats a step
 * until the deadline. Any thread, each with a frame of its own.
 */
final class Appender {
    private static final long PAUSE_NS_MIN = 200_000;
    private static final long PAUSE_NS_MAX = 50_000_000;

    private final CompletableFuture<String> ended;
    private final String log;
    private final Segments segments;
    private final Writers writers;
    private final Duration deadline;
    /** How long an operation waits for its node; at most the deadline, since nothing needs more. */
    private final long operationNs;

    /**
     * @param ended completes when the session has ended for ever
     * @param operation the deadline of the session
     */
    Appender(
            CompletableFuture<String> ended,
            String log,
            Segments segments,
            Writers writers,
            Duration deadline,
            Duration operation) {
        this.ended = ended;
        this.log = log;
        this.segments = segments;
        this.writers = writers;
        this.deadline = deadline;
        operationNs = (operation.compareTo(deadline) < 0 ? operation : deadline).toNanos();
    }

    /** Returns the position of the frame's first transaction. */
    long commit(Frame frame) {
        Retry retry = null;
        long units = Segment.units(frame.length());
        frame.beginCommit();
        if (frame.isCheckDue()) {
            check(frame);
        }
        while (true) {
            try {
                long position = tryCommit(frame, units);
                if (position >= 0) {
                    if (retry != null) {
                        writers.openHolesSoon(); // a reservation whose answer was lost
                    }
                    return position;
                }
            } catch (LiteException e) {
                retry = retry == null ? new Retry(startNs(frame, e)) : retry;
                retry.pauseAfter(e);
                LiteException unused = writers.check(); // the session may be a new one
                if (retry.isOver(e)) { // the check, too, has waited for the node
                    throw e;
                }
            }
        }
    }

    private void check(Frame frame) {
        Retry start = new Retry(frame.delayedSinceNs());
        LiteException failure = writers.check();
        if (failure != null && start.isLate()) {
            throw new LiteTimeoutException(
                    "an append to log \"%s\" could not begin within %s: %s"
                            .formatted(log, deadline, failure.getMessage()),
                    failure);
        }
    }

    /**
     * When the commit that failed has begun. An append that nothing delays does not read the clock, which would take a
     * sixth of its time. A timeout comes when an operation has waited as long as the session lets it. Other errors may
     * come at once or late, and count as if they came at once.
     */
    private long startNs(Frame frame, LiteException error) {
        return frame.delayedSinceNs(error.code() == LiteException.Code.TIMEOUT ? operationNs : 0);
    }

    /** Returns the position, or -1 if a reader sealed the slot. Throws only if the transaction is not in the log, or uncertain. */
    private long tryCommit(Frame frame, long units) {
        Segment known = segments.current();
        Segment segment = known != null ? known : successor(null, frame);
        long tail = reserve(segment, units);
        while (!segment.fits(tail, units)) {
            if (tail >= 0) {
                end(segment, tail);
            }
            segment = successor(segment, frame);
            tail = reserve(segment, units);
        }
        if (segment.beginsSuccessor(tail)) {
            segments.prepareSuccessor(segment);
        }
        int slot = segment.reservedSlots(tail);
        long at = Segment.tailUnits(tail);
        frame.place(segment.number, at);
        try {
            segment.write(at, frame.memory());
        } catch (LmrFreedException e) {
            return -1; // this thread was so slow that the segment was cleaned
        } finally {
            frame.place(segment.number, at); // so that it can be placed elsewhere
        }
        long word = Segment.committed(at, units);
        long before;
        try {
            before = segment.decide(slot, word);
        } catch (LmrFreedException e) {
            // Not executed: a free waits for operations in flight, and refuses others. This thread was slower than the
            // cleaner.
            return -1;
        } catch (LiteException e) {
            before = decideAgain(segment, slot, word, e, startNs(frame, e));
        }
        return before == 0 || before == word ? LogPosition.of(segment.number, slot, 0) : -1;
    }

    private Segment successor(@Nullable Segment full, Frame frame) {
        long delayedNs = System.nanoTime() - frame.delayedSinceNs();
        return segments.successor(full, deadline.toNanos() - delayedNs);
    }

    /** Marks the slot of a reservation that had no room, so that readers need not wait for it. */
    private static void end(Segment segment, long tail) {
        if (segment.reservedSlots(tail) < segment.geometry.slots()) {
            try {
                segment.decide(segment.reservedSlots(tail), Segment.END);
            } catch (LmrFreedException e) {
                // The segment was cleaned meanwhile: all readers have passed the slot.
            }
        }
    }

    /** Returns the tail; a full one, if the segment was cleaned meanwhile. */
    private static long reserve(Segment segment, long units) {
        try {
            return segment.reserve(units);
        } catch (LmrFreedException e) {
            return -1L;
        }
    }

    /** Repeats a commit whose outcome is not known: the word is 0, this transaction's, or the seal. */
    private long decideAgain(Segment segment, int slot, long word, LiteException cause, long startNs) {
        Retry retry = new Retry(startNs);
        LiteException error = cause;
        while (true) {
            try {
                retry.pauseAfter(error);
                return segment.decide(slot, word);
            } catch (LmrFreedException e) {
                throw new AppendUncertainException(
                        "the outcome of the commit at %s of log \"%s\" is not known: its answer was lost, and its segment was cleaned before the writer asked again"
                                .formatted(LogPosition.text(LogPosition.of(segment.number, slot, 0)), log),
                        e);
            } catch (LiteException e) {
                if (retry.isOver(e)) {
                    throw new AppendUncertainException(
                            "the outcome of the commit at %s of log \"%s\" is not known after %s: %s"
                                    .formatted(
                                            LogPosition.text(LogPosition.of(segment.number, slot, 0)),
                                            log,
                                            deadline,
                                            e.getMessage()),
                            e);
                }
                error = e;
            }
        }
    }

    /** Pauses that grow, until the deadline. */
    private final class Retry {
        private final long startNs;
        private long pauseNs = PAUSE_NS_MIN;

        Retry(long startNs) {
            this.startNs = startNs;
        }

        /** Throws the error if it does not pass, or at the deadline. */
        void pauseAfter(LiteException error) {
            if (isOver(error)) {
                throw error;
            }
            LockSupport.parkNanos(this, pauseNs);
            pauseNs = Math.min(PAUSE_NS_MAX, 2 * pauseNs);
        }

        boolean isOver(LiteException error) {
            boolean passes = switch (error.code()) {
                case SESSION_LOST -> !ended.isDone();
                case TIMEOUT, LMR_UNAVAILABLE, NODE_UNREACHABLE, CLUSTER_UNAVAILABLE -> true;
                case LIMIT_EXCEEDED -> true; // a cleaner may free memory
                default -> false;
            };
            return !passes || Thread.currentThread().isInterrupted() || isLate();
        }

        boolean isLate() {
            return System.nanoTime() - startNs >= deadline.toNanos();
        }
    }
}
