package dev.lite.tier.sync;

import dev.lite.os.waiting.Deadline;

/**
 * What nodes say to each other about locks and barriers. Every call may be repeated, and may be carried out late or twice:
 * a ticket or a party and a round say exactly what is meant. Any thread. Each throws a {@link dev.lite.api.LiteException}
 * when it was not answered.
 */
public interface SyncCalls {

    /** An answer that travels as a number. */
    interface Numbered {
        /** The number on the wire; never given to another answer. */
        int number();
    }

    /** What a home answers to a node that waits with a ticket. */
    enum Place implements Numbered {
        /** It is noted; {@link #turn} comes when it is the ticket's turn. */
        QUEUED(1),
        /** It is the ticket's turn. */
        HELD(2),
        /** The ticket has passed: this node was taken for dead. */
        PASSED(3);

        private final int number;

        Place(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }
    }

    /** What a node answers when it is told that it is a ticket's turn. */
    enum Claim implements Numbered {
        /** The ticket is this node's, and is or was woken. */
        TAKEN(1),
        /** It is not this node's, or nobody here wants it any more. */
        UNKNOWN(2),
        /** A draw is under way here: ask again. */
        UNDECIDED(3);

        private final int number;

        Claim(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }
    }

    /** What became of a party. */
    enum Stage implements Numbered {
        /** It is counted, and waits. */
        WAITS(1),
        /** Its round was passed. */
        PASSED(2),
        /** Its round is broken. */
        BROKEN(3),
        /** It is not counted: another round is open, whose number the answer has. */
        OTHER_ROUND(4);

        private final int number;

        Stage(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }
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
