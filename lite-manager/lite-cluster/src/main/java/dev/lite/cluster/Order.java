package dev.lite.cluster;

import org.jspecify.annotations.Nullable;

/**
 * What an operator, or a node that stops, wants of the cluster, and how far it is. Times are milliseconds since 1970 by the
 * clock of whoever wrote them: for people only.
 *
 * @param id grows from order to order, beginning with 1
 * @param kind what is wanted
 * @param subject the node of DRAIN, UNDRAIN and FREE_ORPHANS; the name of the LMR of MOVE, or "" when it has none
 * @param lmrId of MOVE: the id of an LMR without a name, else 0
 * @param target of MOVE: the node to go to; else ""
 * @param leave of DRAIN: whether the node's process ends when it is empty
 * @param state how far it is
 * @param executor the node that carries it out; null while nobody does
 * @param incarnation of that node, else 0
 * @param done how much is done, in the unit that {@code note} names
 * @param total of how much; 0 when that is not known
 * @param note in words: what is being done, or why it failed; at most {@value #NOTE_CHARS_MAX} characters
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

    /** The longest note; longer ones are cut. */
    public static final int NOTE_CHARS_MAX = 400;

    /** What may be ordered. */
    public enum Kind {
        /** Move everything away from a node, and let nothing new come to it. The node itself carries it out. */
        DRAIN,
        /** Let a node be used again. Done with its submission; a drain of that node that is under way ends as FAILED. */
        UNDRAIN,
        /** Move an LMR to a node. */
        MOVE,
        /** Free the memory at a node whose LMR nobody knows any more, without waiting for its grace time. */
        FREE_ORPHANS,
        /** Move LMRs from fuller to emptier nodes. */
        REBALANCE
    }

    /** The life of an order. */
    public enum State {
        /** Submitted; nobody carries it out yet. */
        WANTED,
        /** A node carries it out. */
        RUNNING,
        /** It is done. */
        DONE,
        /** It ended otherwise; the note says why. */
        FAILED;

        /** Whether it will not change any more. */
        public boolean isFinal() {
            return this == DONE || this == FAILED;
        }
    }

    /** Checks, and cuts the note. */
    public Order {
        if (note.length() > NOTE_CHARS_MAX) {
            note = note.substring(0, NOTE_CHARS_MAX - 1) + "…";
        }
        if (done < 0 || total < 0) {
            throw new IllegalArgumentException("order %d: %d of %d are done".formatted(id, done, total));
        }
    }

    /** Whether the other order wants the same. */
    boolean wantsTheSame(Order other) {
        return kind == other.kind
                && subject.equals(other.subject)
                && lmrId == other.lmrId
                && target.equals(other.target)
                && leave == other.leave;
    }

    /** The same under another number. */
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

    /** The same, carried out by a node. */
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

    /** The same with another state and progress. */
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
