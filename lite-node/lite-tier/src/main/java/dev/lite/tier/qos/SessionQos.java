package dev.lite.tier.qos;

import dev.lite.api.Priority;
import dev.lite.tier.Admission;
import dev.lite.tier.RemoteMemory;
import org.jspecify.annotations.Nullable;

/**
 * One session's part of the policy. The policy replaces it as a whole; an operation that has begun keeps what it has. Any
 * thread; a plain read for each operation.
 */
public final class SessionQos implements AutoCloseable {
    private final QosService service;
    private final String principal;
    private final Priority priority;
    /** Its share of the processors. */
    final ProcessorShares.Share share;

    private volatile Part part;
    private volatile boolean closed;

    /**
     * What the current policy means for the session.
     *
     * @param high null: nothing is limited or counted
     * @param low likewise
     * @param gated whether operations on mapped memory must ask
     */
    record Part(
            @Nullable Admission high,
            @Nullable Admission low,
            RemoteMemory highMemory,
            RemoteMemory lowMemory,
            boolean gated) {}

    SessionQos(QosService service, String principal, Priority priority, ProcessorShares.Share share, Part part) {
        this.service = service;
        this.principal = principal;
        this.priority = priority;
        this.share = share;
        this.part = part;
    }

    void set(Part next) {
        part = next;
    }

    String principal() {
        return principal;
    }

    /** The priority of the session, which its operations never exceed. */
    public Priority priority() {
        return priority;
    }

    private boolean isLow(boolean low) {
        return low || priority == Priority.LOW;
    }

    /** Null: operations need not ask. */
    public @Nullable Admission admission(boolean low) {
        Part now = part;
        return isLow(low) ? now.low : now.high;
    }

    /** Memory of other nodes, by the fabric. */
    public RemoteMemory memory(boolean low) {
        Part now = part;
        return isLow(low) ? now.lowMemory : now.highMemory;
    }

    /** Whether operations on mapped memory must ask {@link #admission}. */
    public boolean isGated() {
        return part.gated;
    }

    /** Operations that had begun may continue. */
    boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true; // before the clocks are forgotten, so that none is kept after it
        service.closed(this);
    }
}
