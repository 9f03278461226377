package dev.lite.tier.control;

import org.jspecify.annotations.Nullable;

/**
 * The kind of a control request. Its number is the first byte of the request; it never changes, and no other kind ever
 * gets it.
 */
public enum ControlKind {
    /** Allocates chunks of a node's arena for an LMR. */
    ALLOCATE_EXTENTS(1, Slots.WORK),
    /** Frees extents of an LMR in a node's arena. */
    FREE_EXTENTS(2, Slots.WORK),
    /** Ends every mapping of an LMR at a node. */
    REVOKE(3, Slots.NOTIFY),
    /** Sets bytes of a node's arena. */
    MEMSET(4, Slots.BULK),
    /** Copies bytes of a node's arena, to itself or to another node. */
    COPY(5, Slots.BULK),
    /** Waits for the end of all memset and copy work that a node requested. */
    QUIESCE(6, Slots.NOTIFY),
    /** Reads the record of an anonymous LMR from the node that created it. */
    RECORD(7, Slots.WORK),
    /** Makes a node's mappings of an LMR follow its record. */
    REFRESH(8, Slots.NOTIFY),
    /** Frees an anonymous LMR. */
    FREE_LMR(9, Slots.CHANGE),
    /** Grants permissions on an anonymous LMR. */
    GRANT(10, Slots.CHANGE),
    /** Moves an anonymous LMR. */
    MOVE(11, Slots.CHANGE),
    /** Moves an anonymous LMR away from a node. */
    EVACUATE(12, Slots.CHANGE),
    /** Node to home: a ticket of a lock waits. */
    LOCK_QUEUE(16, Slots.WORK),
    /** Node to home: a ticket's holder released its lock. */
    LOCK_RELEASE(17, Slots.WORK),
    /** Home to node: a ticket gets the lock. */
    LOCK_TURN(18, Slots.WORK),
    /** Node to home: a party arrives at a barrier. */
    BARRIER_ARRIVE(19, Slots.WORK),
    /** Node to home: a party leaves a barrier. */
    BARRIER_LEAVE(20, Slots.WORK),
    /** Home to node: a barrier's round is over. */
    BARRIER_OVER(21, Slots.WORK),
    /** Home to node: how many parties of a round wait there. */
    BARRIER_PARTIES(22, Slots.WORK),
    /** Node to home: a try found a lock taken. */
    LOCK_TAKEN(23, Slots.WORK),
    /** Node to home: asks for the value of a word that the node begins to use. */
    WORD_OPEN(24, Slots.WORK),
    /** Node to home: no session of the node uses a word any more. */
    WORD_LEFT(25, Slots.WORK),
    /** Home to node: asks which of some words the node uses. */
    WORDS_USED(26, Slots.WORK),
    /** Creates a ring for the calls of an RPC function. */
    BIND_FUNCTION(32, Slots.WORK),
    /** Queries the use of a node's arena. */
    ARENA_ROOM(33, Slots.WORK),
    /** Queries which of some LMRs a node created and still knows, or moves. */
    KNOWN_LMRS(34, Slots.WORK),
    /** Cancels calls whose callers have stopped waiting. */
    CANCEL_CALLS(35, Slots.WORK),
    /** Caller's node to server's node: opens a channel; the memory follows over the fabric. */
    OPEN_CHANNEL(36, Slots.WORK),
    /** Server's node to caller's node: the serving application has taken a channel. */
    CHANNEL_TAKEN(37, Slots.WORK),
    /** Ends a channel. */
    END_CHANNEL(38, Slots.WORK);

    private static final @Nullable ControlKind[] BY_NUMBER = new @Nullable ControlKind[Byte.MAX_VALUE + 1];

    static {
        for (ControlKind kind : values()) {
            if (BY_NUMBER[kind.number] != null) {
                throw new ExceptionInInitializerError("two control kinds have the number " + kind.number);
            }
            BY_NUMBER[kind.number] = kind;
        }
    }

    private final byte number;
    private final Slots slots;

    ControlKind(int number, Slots slots) {
        this.number = (byte) number;
        this.slots = slots;
    }

    byte number() {
        return number;
    }

    Slots slots() {
        return slots;
    }

    /** The kind with a number; null if there is none. */
    static @Nullable ControlKind of(byte number) {
        return number < 0 ? null : BY_NUMBER[number];
    }

    /**
     * The slots that a request may take. Changes, notifications and work each have one slot that the others cannot take. So
     * when the handler of a request waits for requests of another group, to any node, those always have a slot.
     */
    enum Slots {
        /** Changes by a master; they notify mappers. */
        CHANGE(0b0001),
        /** Notifications of an LMR's mappers; they wait for operations, which wait for work. */
        NOTIFY(0b0110),
        /** Work that waits for no other request, and ends soon. */
        WORK(0b1100),
        /**
         * Work on so many bytes that it may last, until the deadline and longer if it waits for a third node. So it takes one
         * slot of {@link #WORK} at a time and leaves the other one.
         */
        BULK(WORK.mask, 1);

        private final int mask;
        private final int max;

        Slots(int mask) {
            this(mask, Integer.bitCount(mask));
        }

        Slots(int mask, int max) {
            this.mask = mask;
            this.max = max;
        }

        boolean has(int slot) {
            return (mask & (1 << slot)) != 0;
        }

        /** How many requests of this group may be under way. */
        int max() {
            return max;
        }
    }
}
