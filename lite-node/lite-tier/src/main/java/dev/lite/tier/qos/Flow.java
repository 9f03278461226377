package dev.lite.tier.qos;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Priority;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.Admission;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** The operations of one session and priority under one policy. Any thread. */
final class Flow implements Admission {
    /** An operation without bytes takes a turn, too: it counts as so many bytes more than it has. */
    private static final long OPERATION_BYTES = 64;

    /** One of so many operations on mapped memory is measured while they are limited, and else none. A power of two. */
    private static final int SAMPLE = 64;

    private final String principal;
    private final Priority priority;
    private final ClassCounts counts;
    private final ClassCounts mappedCounts;
    private final Account low;
    private final Account lowMapped;
    private final Account share;
    private final PrincipalQuota.@Nullable Share quota;

    /**
     * @param session the key of the session's place in queues
     * @param counts of operations that need a fabric
     * @param mappedCounts of those on mapped memory
     * @param lowLimiter that of low priority over a fabric
     * @param lowMappedLimiter that of low priority on mapped memory
     * @param shareLimiter that of the session on mapped memory
     */
    Flow(
            Object session,
            String principal,
            Priority priority,
            ClassCounts counts,
            ClassCounts mappedCounts,
            Limiter lowLimiter,
            Limiter lowMappedLimiter,
            Limiter shareLimiter,
            @Nullable PrincipalQuota quota) {
        this.principal = principal;
        this.priority = priority;
        this.counts = counts;
        this.mappedCounts = mappedCounts;
        low = new Account(lowLimiter, session);
        lowMapped = new Account(lowMappedLimiter, session);
        share = new Account(shareLimiter, session);
        this.quota = quota == null ? null : quota.share(session);
    }

    /** What an operation costs. */
    static long cost(long bytes) {
        return bytes + OPERATION_BYTES;
    }

    private Account low(boolean mapped) {
        return mapped ? lowMapped : low;
    }

    private ClassCounts counts(boolean mapped) {
        return mapped ? mappedCounts : counts;
    }

    @Override
    public boolean isLimited(boolean mapped) {
        return quota != null
                || (mapped && share.isLimited())
                || (priority == Priority.LOW && low(mapped).isLimited());
    }

    @Override
    public boolean tryTake(boolean mapped, long bytes) {
        long cost = cost(bytes);
        if (quota != null && !quota.tryTake(cost)) {
            return false;
        }
        int limit = mapped ? share.limit() : 0;
        if (!mapped || share.tryTake(cost)) {
            if (priority == Priority.HIGH || low(mapped).tryTake(cost)) {
                return true;
            }
            giveBack(limit, cost);
        } else {
            giveBack(0, cost);
        }
        return false;
    }

    @Override
    public void take(boolean mapped, long bytes, Deadline deadline) {
        if (tryTake(mapped, bytes)) {
            return;
        }
        long cost = cost(bytes);
        long beginNs = System.nanoTime();
        if (quota != null && !quota.take(cost, deadline)) {
            throw refused(mapped, "the quota of \"%s\": %s".formatted(principal, text()), deadline);
        }
        int limit = mapped ? share.limit() : 0; // asked now: a limit may begin during the wait for low priority
        if (mapped && !share.take(cost, deadline)) {
            giveBack(0, cost);
            throw refused(
                    true,
                    "each application of this priority is limited to %d bytes per second now"
                            .formatted(share.perSecond()),
                    deadline);
        }
        Account account = low(mapped);
        if (priority == Priority.LOW && !account.take(cost, deadline)) {
            giveBack(limit, cost);
            throw refused(
                    mapped,
                    "low priority is limited to %d bytes per second now".formatted(account.perSecond()),
                    deadline);
        }
        counts(mapped).queued(System.nanoTime() - beginNs);
    }

    /**
     * Gives back what an operation took before it was refused.
     *
     * @param limit that of the share for which it took permits. If that has ended, those who waited for it took none, and
     *     its permits are over. 0: none
     */
    private void giveBack(int limit, long cost) {
        if (limit != 0 && limit == share.limit()) {
            share.giveBack(cost);
        }
        if (quota != null) {
            quota.giveBack(cost);
        }
    }

    private String text() {
        if (quota == null) {
            return "none";
        }
        Long bytes = quota.quota.bytesPerSecond();
        Long operations = quota.quota.operationsPerSecond();
        String first = bytes == null ? "" : "%d bytes per second".formatted(bytes);
        String second = operations == null ? "" : "%d operations per second".formatted(operations);
        return first.isEmpty() || second.isEmpty() ? first + second : first + ", " + second;
    }

    private RuntimeException refused(boolean mapped, String limit, Deadline deadline) {
        counts(mapped).refused();
        if (Thread.currentThread().isInterrupted()) {
            return new LmrUnavailableException("interrupted while an operation waited for permits; " + limit);
        }
        return new LiteTimeoutException(deadline.expired("an operation that waited for permits; " + limit));
    }

    @Override
    public long begin(boolean mapped) {
        if (mapped && (!isLimited(true) || (ThreadLocalRandom.current().nextInt() & (SAMPLE - 1)) != 0)) {
            return NOT_MEASURED;
        }
        return System.nanoTime() | 1; // never NOT_MEASURED
    }

    @Override
    public void end(boolean mapped, long bytes, long begun) {
        if (begun != NOT_MEASURED) {
            counts(mapped).ended(mapped ? SAMPLE : 1, bytes, System.nanoTime() - begun);
        }
    }
}
