package dev.lite.cluster;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A task for the cluster, submitted by an operator or by a node that shuts down, and its progress. Times are milliseconds
 * since 1970 on the writer's clock: for display only.
 *
 * @param id consecutive, from 1
 * @param kind the task
 * @param subject the node of DRAIN, UNDRAIN and FREE_ORPHANS; the name of the LMR of MOVE, or "" when it has none
 * @param lmrId of MOVE: the id of an LMR without a name, else 0
 * @param target of MOVE: the target node; else ""
 * @param leave of DRAIN: whether the node's process ends when it is empty
 * @param state the state
 * @param executor the node that executes it; null while none does
 * @param incarnation of that node, else 0
 * @param done the amount done, in the unit that {@code note} names
 * @param total the total amount; 0 when unknown
 * @param note a description of the current work, or why it failed; at most {@value #NOTE_CHARS_MAX} characters
 * @param submittedMs when it was submitted
 * @param changedMs when it was changed last
 */
public record Order(
        long id,
        Kind kind,
        String subject,
        long lmrId,
        String target,
        boolean leave,
        State state,
        @Nullable String executor,
        long incarnation,
        long done,
        long total,
        String note,
        long submittedMs,
        long changedMs) {

    /** The maximum length of a note; longer notes are truncated. */
    public static final int NOTE_CHARS_MAX = 400;

    /** The kinds of orders. */
    public enum Kind {
        /** Move everything away from a node and place nothing new there. The node itself executes it. */
        DRAIN,
        /** Use a node again. Done on submission; a running drain of that node becomes FAILED. */
        UNDRAIN,
        /** Move an LMR to a node. */
        MOVE,
        /** Free a node's orphans (memory whose LMR no longer exists) without waiting for their grace time. */
        FREE_ORPHANS,
        /** Move LMRs from fuller to emptier nodes. */
        REBALANCE
    }

    /** The states of an order. */
    public enum State {
        /** Submitted; no node executes it yet. */
        WANTED,
        /** A node executes it. */
        RUNNING,
        /** It is done. */
        DONE,
        /** It failed or was cancelled; the note says why. */
        FAILED;

        /** Whether this state is final. */
        public boolean isFinal() {
            return this == DONE || this == FAILED;
        }
    }

    /** Validates, and truncates the note. */
    public Order {
        if (note.length() > NOTE_CHARS_MAX) {
            note = note.substring(0, NOTE_CHARS_MAX - 1) + "…";
        }
        if (done < 0 || total < 0) {
            throw new IllegalArgumentException("order %d: %d of %d are done".formatted(id, done, total));
        }
    }

    /** Whether the other order requests the same task. */
    boolean wantsTheSame(Order other) {
        return kind == other.kind
                && subject.equals(other.subject)
                && lmrId == other.lmrId
                && target.equals(other.target)
                && leave == other.leave;
    }

    /** Whether the other is this order at any progress under the same claim, or still unclaimed like this one. */
    boolean isSameClaim(Order other) {
        return id == other.id
                && state == other.state
                && incarnation == other.incarnation
                && Objects.equals(executor, other.executor);
    }

    /** The same order with another id. */
    Order numbered(long newId) {
        return new Order(
                newId,
                kind,
                subject,
                lmrId,
                target,
                leave,
                state,
                executor,
                incarnation,
                done,
                total,
                note,
                submittedMs,
                changedMs);
    }

    /** The same order, executed by a node. */
    Order claimedBy(String node, long nodeIncarnation) {
        return new Order(
                id,
                kind,
                subject,
                lmrId,
                target,
                leave,
                State.RUNNING,
                node,
                nodeIncarnation,
                0,
                0,
                "",
                submittedMs,
                System.currentTimeMillis());
    }

    /** The same order with another state and progress. */
    Order with(State newState, long newDone, long newTotal, String newNote) {
        return new Order(
                id,
                kind,
                subject,
                lmrId,
                target,
                leave,
                newState,
                executor,
                incarnation,
                newDone,
                newTotal,
                newNote,
                submittedMs,
                System.currentTimeMillis());
    }
}
