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
    private static final long OPERATION_BYTES = 256;

    /** One of so many operations on mapped memory is measured. A power of two. */
    private static final int SAMPLE = 64;

    private final Object session;
    private final String principal;
    private final Priority priority;
    private final ClassCounts counts;
    private final Limiter lowLimiter;
    private final @Nullable PrincipalQuota quota;

    /**
     * @param session the key of the session's place in queues
     * @param lowLimiter that of low priority
     */
    Flow(
            Object session,
            String principal,
            Priority priority,
            ClassCounts counts,
            Limiter lowLimiter,
            @Nullable PrincipalQuota quota) {
        this.session = session;
        this.principal = principal;
        this.priority = priority;
        this.counts = counts;
        this.lowLimiter = lowLimiter;
        this.quota = quota;
    }

    /** What an operation costs. */
    static long cost(long bytes) {
        return bytes + OPERATION_BYTES;
    }

    @Override
    public boolean isLimited() {
        return quota != null || (priority == Priority.LOW && lowLimiter.isLimited());
    }

    @Override
    public boolean tryTake(long bytes) {
        long cost = cost(bytes);
        if (quota != null && !quota.tryTake(session, cost)) {
            return false;
        }
        if (priority == Priority.HIGH || lowLimiter.tryTake(session, cost)) {
            return true;
        }
        if (quota != null) {
            quota.giveBack(cost);
        }
        return false;
    }

    @Override
    public void take(long bytes, Deadline deadline) {
        if (tryTake(bytes)) {
            return;
        }
        long cost = cost(bytes);
        long beginNs = System.nanoTime();
        if (quota != null && !quota.take(session, cost, deadline)) {
            throw refused("the quota of \"%s\": %s".formatted(principal, text()), deadline);
        }
        if (priority == Priority.LOW && !lowLimiter.take(session, cost, deadline)) {
            if (quota != null) {
                quota.giveBack(cost);
            }
            throw refused(
                    "low priority is limited to %d bytes per second now".formatted(lowLimiter.perSecond()), deadline);
        }
        counts.queued(System.nanoTime() - beginNs);
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

    private RuntimeException refused(String limit, Deadline deadline) {
        counts.refused();
        if (Thread.currentThread().isInterrupted()) {
            return new LmrUnavailableException("interrupted while an operation waited for permits; " + limit);
        }
        return new LiteTimeoutException(deadline.expired("an operation that waited for permits; " + limit));
    }

    @Override
    public long begin(boolean mapped) {
        if (mapped && (ThreadLocalRandom.current().nextInt() & (SAMPLE - 1)) != 0) {
            return NOT_MEASURED;
        }
        return System.nanoTime() | 1; // never NOT_MEASURED
    }

    @Override
    public void end(boolean mapped, long bytes, long begun) {
        if (begun != NOT_MEASURED) {
            counts.ended(mapped ? SAMPLE : 1, bytes, System.nanoTime() - begun);
        }
    }
}
