package dev.lite.tier.qos;

import dev.lite.os.waiting.Deadline;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A rate that several applications share in a fair order, or no limit. Permits come in batches by {@link #refill}. An
 * operation may begin while there are permits left, and may use more than there are: its application pays the rest later,
 * in pieces, and the others take turns with it ({@link FairQueue}). So a large operation needs no large bucket. Any thread.
 */
final class Limiter {
    /** At the lowest rate, others wait a quarter of a second for such a piece. */
    private static final long PIECE_MIN = 16 << 10;

    /** A piece is what comes in a twentieth of a second, if that is more: few operations are larger. */
    private static final long PIECES_PER_SECOND = 20;

    /** What is saved up while nobody needs it, in batches. */
    private static final int SAVED_BATCHES = 2;

    private final LongFunction<Permits> source;
    private final int savedBatches;
    private final AtomicLong balance = new AtomicLong();
    private final AtomicLong used = new AtomicLong();
    /** How many limits have begun. */
    private final AtomicInteger begun = new AtomicInteger();

    private final FairQueue queue = new FairQueue(new FairQueue.Room() {
        @Override
        public boolean take(long cost) {
            return takePermits(cost);
        }

        @Override
        public long piece() {
            return isLimited() ? Math.max(PIECE_MIN, perSecond / PIECES_PER_SECOND) : Long.MAX_VALUE;
        }

        @Override
        public void giveBack(long cost) {
            balance.addAndGet(cost);
            used.addAndGet(-cost);
        }
    });

    /** Null: no limit. Written by the thread that refills. */
    private volatile @Nullable Permits permits;

    private volatile long perSecond;
    private volatile boolean ranShort;
    /** A batch that came in time; 0: none has come. By the thread that refills. */
    private long usualBatch;

    /** @param source makes permits at a rate per second */
    Limiter(LongFunction<Permits> source) {
        this(source, SAVED_BATCHES);
    }

    /** @param savedBatches how many batches are saved up while nobody needs them */
    Limiter(LongFunction<Permits> source, int savedBatches) {
        this.source = source;
        this.savedBatches = savedBatches;
    }

    boolean isLimited() {
        return permits != null;
    }

    /** The number of the limit; 0: none. The permits of one limit are not those of the next. */
    int number() {
        return isLimited() ? begun.get() : 0;
    }

    /** The rate; 0: no limit. */
    long perSecond() {
        return perSecond;
    }

    /** Changes the rate. Only by the thread that refills, or before there is one. */
    void limit(long newPerSecond) {
        Permits now = permits;
        perSecond = newPerSecond;
        if (now == null) {
            balance.set(0);
            usualBatch = 0;
            begun.incrementAndGet();
            permits = source.apply(newPerSecond);
        } else {
            now.setPerSecond(newPerSecond);
        }
    }

    /** Ends the limit. All waiting operations continue. */
    void unlimit() {
        permits = null;
        perSecond = 0;
        queue.pump();
    }

    /** Takes the next batch of permits and gives it to those who wait. Call it every few milliseconds. */
    void refill() {
        Permits now = permits;
        if (now == null) {
            return;
        }
        long batch = now.takeAll();
        if (batch > 0) {
            // A late batch is larger. Those who wait get all of it; it does not raise what is saved up.
            usualBatch = usualBatch == 0 ? batch : Math.min(batch, 2 * usualBatch);
            long most = Math.max(batch, savedBatches * usualBatch);
            balance.updateAndGet(before -> Math.min(before + batch, Math.max(before, most)));
        }
        queue.pump();
    }

    private boolean takePermits(long cost) {
        if (permits == null) {
            return true;
        }
        if (balance.get() <= 0) {
            ranShort = true;
            return false;
        }
        balance.addAndGet(-cost);
        used.addAndGet(cost);
        return true;
    }

    /** The permits that were taken while there was a limit. */
    long used() {
        return used.get();
    }

    /** Whether there were too few permits since the last call. */
    boolean takeShort() {
        boolean was = ranShort;
        ranShort = false;
        return was;
    }

    /** Takes permits if there are some and nobody waits for them. */
    boolean tryTake(Object application, long cost) {
        return permits == null || (queue.isEmpty() && queue.tryEnter(application, cost));
    }

    /**
     * Takes permits; waits for them.
     *
     * @return false if there were none until the deadline, or the thread was interrupted
     */
    boolean take(Object application, long cost, Deadline deadline) {
        return tryTake(application, cost) || queue.await(queue.enter(application, cost), deadline);
    }

    /** Gives permits of this limit back that were taken for an operation that did not begin. */
    void giveBack(Object application, long cost) {
        if (isLimited()) {
            queue.giveBack(application, cost);
        }
    }

    void forget(Object application) {
        queue.forget(application);
    }
}
