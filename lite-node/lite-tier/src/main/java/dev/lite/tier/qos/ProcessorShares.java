package dev.lite.tier.qos;

import java.util.Collection;
import java.util.function.LongFunction;

/**
 * Divides the processors among applications of one priority that copy mapped memory: while threads wait for a processor, each
 * application has the same limit of bytes per second. The limit falls while one of them gets less, since the others' threads then
 * leave it the processors; otherwise it rises. So each gets the same number of bytes, or all that it needs, whatever the number of
 * its threads and the size of its operations.
 *
 * <p>If nobody uses what a fall has freed, the applications that get less need no more, or other processes use it. Then the limit
 * is again what it was before, and these applications do not count for a while; nor does one that gets a small part of the limit.
 *
 * <p>Confined to the thread that ticks, except {@link #isOn}.
 */
final class ProcessorShares {
    /** In so many ticks in a row the processors must be short before the limit begins, and as long the rates are measured. */
    private static final int BEGIN_TICKS = 10;

    /** The limit while the rates are measured: more than a processor copies. */
    private static final double FIRST_BYTES_PER_SECOND = 64L << 30;

    /** The limit falls no further: a processor copies so much in some milliseconds. */
    private static final double LEAST_BYTES_PER_SECOND = 256 << 20;

    /** After so many ticks without two applications that compete, the limit ends. */
    private static final int ALONE_TICKS = 25;

    /** Ticks from the end of a limit to the next one: twice as many each time that it was of no use. */
    private static final int PAUSE_TICKS = 50;

    private static final int PAUSE_TICKS_MAX = 1500;

    /** An application competes if it gets at least this part of the limit. */
    private static final double COMPETES = 1.0 / 32;

    /** The processors are busy while so many threads want one, by processors. */
    private static final double BUSY = 0.5;

    /** An application that gets this part of the limit gets as much as the others. */
    private static final double EQUAL = 0.95;

    private static final double STEP = 0.03;
    private static final double RATE_OF_LAST_TICK = 0.15;

    /** A fall is judged once it has taken this part of all bytes away. The limit stays for so many ticks then. */
    private static final double JUDGED = 0.2;

    private static final int JUDGE_TICKS = 15;

    /** What all use is measured in so many of them, the last ones. */
    private static final int MEASURE_TICKS = 10;

    /** The fall was of use if others use this part of what it has freed. */
    private static final double OF_USE = 0.25;

    /** Else those that get less do not count for so many ticks. */
    private static final int CONTENT_TICKS = 250;

    /** An application catches up on so many batches that it missed while it waited for a processor. */
    private static final int SAVED_BATCHES = 5;

    /** For so many ticks after it ran short of permits, an application is at its limit. */
    private static final int SHORT_TICKS = 3;

    private volatile boolean on;
    private double limit;
    /** Ticks in which the processors were short; then ticks of the measurement. */
    private int ticks;

    private int aloneTicks;
    private int pause;
    private int nextPause = PAUSE_TICKS;
    private int judge;
    private double measuredSeconds;
    private long measuredFrom;
    /** Before the fall that is to be judged. */
    private double markedLimit;

    private double markedTotal;

    /** What one application may use and has used. */
    static final class Share {
        final Limiter limiter;
        private long used;
        private double bytesPerSecond;
        private double marked;
        private int contentTicks;
        private int ticksSinceShort;

        Share(LongFunction<Permits> permits) {
            limiter = new Limiter(permits, SAVED_BATCHES);
        }

        private void begin() {
            used = limiter.used();
            bytesPerSecond = 0;
            ticksSinceShort = SHORT_TICKS;
            contentTicks = 0;
        }

        /** @param weight of the last tick in the average */
        private void measure(double seconds, double weight) {
            long now = limiter.used();
            bytesPerSecond += ((now - used) / seconds - bytesPerSecond) * weight;
            contentTicks = Math.max(0, contentTicks - 1);
            used = now;
            ticksSinceShort = limiter.takeShort() ? 0 : ticksSinceShort + 1;
        }

        /** Whether the limit falls for it while it gets less. */
        private boolean counts(double limit) {
            return contentTicks == 0 && bytesPerSecond >= COMPETES * limit;
        }

        /** Whether it wanted more than the limit a moment ago. */
        private boolean isAtLimit() {
            return ticksSinceShort < SHORT_TICKS;
        }
    }

    /** Whether operations must ask. Any thread. */
    boolean isOn() {
        return on;
    }

    /**
     * Ends a tick.
     *
     * @param wanted threads that want a processor, by processors; 0: few of them copy mapped memory
     * @param seconds since the last tick
     * @return whether {@link #isOn} has changed
     */
    boolean tick(Collection<Share> shares, double wanted, double seconds) {
        if (!on) {
            return begin(shares, wanted > 1);
        }
        double weight = ticks < BEGIN_TICKS ? 1.0 / (ticks + 1) : RATE_OF_LAST_TICK;
        for (Share share : shares) {
            share.measure(seconds, weight);
        }
        if (ticks < BEGIN_TICKS) {
            ticks++;
            if (ticks == BEGIN_TICKS) {
                limit = shares.stream()
                        .mapToDouble(one -> one.bytesPerSecond)
                        .max()
                        .orElse(0);
                mark(shares);
                if (limit < LEAST_BYTES_PER_SECOND) {
                    stop();
                }
            }
        } else {
            adapt(shares, wanted > BUSY, seconds);
        }
        if (!on) {
            shares.forEach(share -> share.limiter.unlimit());
            return true;
        }
        shares.forEach(share -> share.limiter.limit((long) limit));
        return false;
    }

    /** Ends the limit at once; whether there was one. */
    boolean end(Collection<Share> shares) {
        boolean was = on;
        if (was) {
            on = false;
            shares.forEach(share -> share.limiter.unlimit());
        }
        ticks = 0;
        return was;
    }

    private boolean begin(Collection<Share> shares, boolean crowded) {
        pause = Math.max(0, pause - 1);
        ticks = crowded && pause == 0 && shares.size() > 1 ? ticks + 1 : 0;
        if (ticks < BEGIN_TICKS) {
            return false;
        }
        on = true;
        ticks = 0;
        aloneTicks = 0;
        judge = 0;
        limit = FIRST_BYTES_PER_SECOND;
        shares.forEach(Share::begin);
        shares.forEach(share -> share.limiter.limit((long) limit));
        return true;
    }

    private void stop() {
        on = false;
        ticks = 0;
        pause = nextPause;
        nextPause = Math.min(PAUSE_TICKS_MAX, 2 * nextPause);
    }

    private void adapt(Collection<Share> shares, boolean crowded, double seconds) {
        int competing = 0;
        boolean anyAtLimit = false;
        double slowest = limit;
        for (Share share : shares) {
            anyAtLimit |= share.isAtLimit();
            if (share.bytesPerSecond >= COMPETES * limit) {
                competing++;
            }
            if (share.counts(limit)) {
                slowest = Math.min(slowest, share.bytesPerSecond);
            }
        }
        aloneTicks = competing < 2 || (!crowded && !anyAtLimit) ? aloneTicks + 1 : 0;
        if (aloneTicks >= ALONE_TICKS) {
            stop();
            return;
        }
        if (anyAtLimit && competing > 1) {
            nextPause = PAUSE_TICKS;
        }
        if (judge > 0) {
            judge(shares, seconds);
        } else if (!crowded || slowest >= EQUAL * limit) {
            limit = Math.min(FIRST_BYTES_PER_SECOND, limit * (1 + STEP));
            mark(shares);
        } else {
            limit = Math.max(LEAST_BYTES_PER_SECOND, limit * (1 - STEP));
            judge = predicted(shares) < (1 - JUDGED) * markedTotal ? JUDGE_TICKS : 0;
        }
    }

    /** The bytes per second of all if nobody used what the fall has freed. */
    private double predicted(Collection<Share> shares) {
        return shares.stream()
                .mapToDouble(share -> Math.min(share.marked, limit))
                .sum();
    }

    private void judge(Collection<Share> shares, double seconds) {
        long used = shares.stream().mapToLong(share -> share.used).sum();
        judge--;
        if (judge >= MEASURE_TICKS) {
            measuredFrom = used;
            measuredSeconds = 0;
            return;
        }
        measuredSeconds += seconds;
        if (judge > 0) {
            return;
        }
        double total = Math.max(0, used - measuredFrom) / measuredSeconds; // a session may have ended meanwhile
        double predicted = predicted(shares);
        if (total < predicted + OF_USE * (markedTotal - predicted)) {
            for (Share share : shares) {
                if (share.bytesPerSecond < EQUAL * limit) {
                    share.contentTicks = CONTENT_TICKS;
                }
            }
            limit = markedLimit;
        }
        mark(shares);
    }

    private void mark(Collection<Share> shares) {
        markedLimit = limit;
        shares.forEach(share -> share.marked = share.bytesPerSecond);
        markedTotal = shares.stream().mapToDouble(share -> share.marked).sum();
    }
}
