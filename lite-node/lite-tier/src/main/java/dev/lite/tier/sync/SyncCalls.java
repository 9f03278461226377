package dev.lite.tier.sync;

import dev.lite.tier.Deadline;

/**
 * What nodes say to each other about locks and barriers. Every call may be repeated, and may be carried out late or twice:
 * a ticket or a party and a round say exactly what is meant. Any thread. Each throws a {@link dev.lite.api.LiteException}
 * when it was not answered.
 */
public interface SyncCalls {

    /** What a home answers to a node that waits with a ticket. */
    enum Place {
        /** It is noted; {@link #turn} comes when it is the ticket's turn. */
        QUEUED,
        /** It is the ticket's turn. */
        HELD,
        /** The ticket has passed: this node was taken for dead. */
        PASSED
    }

    /** What a node answers when it is told that it is a ticket's turn. */
    enum Claim {
        /** The ticket is this node's, and is or was woken. */
        TAKEN,
        /** It is not this node's, or nobody here wants it any more. */
        UNKNOWN,
        /** A draw is under way here: ask again. */
        UNDECIDED
    }

    /** What became of a party. */
    enum Stage {
        /** It is counted, and waits. */
        WAITS,
        /** Its round was passed. */
        PASSED,
        /** Its round is broken. */
        BROKEN,
        /** It is not counted: another round is open, whose number the answer has. */
        OTHER_ROUND
    }

    /**
     * A home's answer about a party.
     *
     * @param round the party's round, or the one that is open
     * @param reason why it is broken, else empty
     */
    record Standing(Stage stage, long round, String reason) {}

    /** Node → home: somebody here waits with this ticket. */
    Place queue(WordRef lock, long ticket, Deadline deadline);

    /** Node → home: this ticket's holder has released the lock. Does nothing when its turn is over already. */
    void release(WordRef lock, long ticket, Deadline deadline);

    /** Home → node: it is this ticket's turn. */
    Claim turn(int node, WordRef lock, long ticket, Deadline deadline);

    /** Node → home: a party arrives. */
    Standing arrive(WordRef barrier, long round, int parties, long party, Deadline deadline);

    /** Node → home: a party does not wait any more, so its round breaks unless it was passed. */
    Standing leave(WordRef barrier, long round, long party, String reason, Deadline deadline);

    /** Home → node: a round is over. */
    void over(int node, WordRef barrier, Standing outcome, Deadline deadline);

    /** Home → node: how many parties of this round there are here. */
    int parties(int node, WordRef barrier, long round, Deadline deadline);

    /** The other side of each call. Never blocks. */
    interface Service {
        /** See {@link SyncCalls#queue}. */
        Place queue(int node, WordRef lock, long ticket);

        /** See {@link SyncCalls#release}. */
        void release(WordRef lock, long ticket);

        /** See {@link SyncCalls#turn}. */
        Claim turn(WordRef lock, long ticket);

        /** See {@link SyncCalls#arrive}. */
        Standing arrive(int node, WordRef barrier, long round, int parties, long party);

        /** See {@link SyncCalls#leave}. */
        Standing leave(WordRef barrier, long round, long party, String reason);

        /** See {@link SyncCalls#over}. */
        void over(WordRef barrier, Standing outcome);

        /** See {@link SyncCalls#parties}. */
        int parties(WordRef barrier, long round);
    }
}
