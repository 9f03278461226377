package dev.lite.tier.control;

import org.jspecify.annotations.Nullable;

/**
 * What a control request asks for. The number is the first byte of the request; it never changes and is never given to another
 * kind.
 */
public enum ControlKind {
    /** Takes chunks of a node's arena for an LMR. */
    ALLOCATE_EXTENTS(1, Slots.WORK),
    /** Gives extents of an LMR back to a node's arena. */
    FREE_EXTENTS(2, Slots.WORK),
    /** Ends every mapping of an LMR at a node. */
    REVOKE(3, Slots.NOTIFY),
    /** Sets bytes of a node's arena. */
    MEMSET(4, Slots.WORK),
    /** Copies bytes of a node's arena, to itself or to another node. */
    COPY(5, Slots.WORK),
    /** Waits for the end of all memset and copy work that a node asked for. */
    QUIESCE(6, Slots.NOTIFY),
    /** Reads the record of an LMR without a name from the node that created it. */
    RECORD(7, Slots.WORK),
    /** Makes a node's mappings of an LMR follow its record. */
    REFRESH(8, Slots.NOTIFY),
    /** Frees an LMR without a name. */
    FREE_LMR(9, Slots.CHANGE),
    /** Grants permissions on an LMR without a name. */
    GRANT(10, Slots.CHANGE),
    /** Moves an LMR without a name. */
    MOVE(11, Slots.CHANGE),
    /** Moves an LMR without a name away from a node. */
    EVACUATE(12, Slots.CHANGE),
    /** Node to home: a ticket of a lock waits. */
    LOCK_QUEUE(16, Slots.WORK),
    /** Node to home: a ticket's holder released its lock. */
    LOCK_RELEASE(17, Slots.WORK),
    /** Home to node: it is a ticket's turn. */
    LOCK_TURN(18, Slots.WORK),
    /** Node to home: a party arrives at a barrier. */
    BARRIER_ARRIVE(19, Slots.WORK),
    /** Node to home: a party leaves a barrier. */
    BARRIER_LEAVE(20, Slots.WORK),
    /** Home to node: a barrier's round is over. */
    BARRIER_OVER(21, Slots.WORK),
    /** Home to node: how many parties of a round wait there. */
    BARRIER_PARTIES(22, Slots.WORK),
    /** Makes a ring for the calls of an RPC function. */
    BIND_FUNCTION(32, Slots.WORK),
    /** How full a node's arena is. */
    ARENA_ROOM(33, Slots.WORK),
    /** Which of some LMRs the node that created them knows. */
    KNOWN_LMRS(34, Slots.WORK);

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

    /** The kind of a number; null when there is none. */
    static @Nullable ControlKind of(byte number) {
        return number < 0 ? null : BY_NUMBER[number];
    }

    /**
     * The slots that a request may take. Each group has a slot that no other can take: so a request that waits at its node for
     * requests of another group, towards whichever node, never waits for those to leave it a slot.
     */
    enum Slots {
        /** Changes that a master asks for; they notify mappers. */
        CHANGE(0b0001),
        /** Notifications of the mappers of an LMR; they wait for operations, and those for work. */
        NOTIFY(0b0110),
        /** Work that ends by itself. */
        WORK(0b1100);

        private final int mask;

        Slots(int mask) {
            this.mask = mask;
        }

        boolean has(int slot) {
            return (mask & (1 << slot)) != 0;
        }

        int count() {
            return Integer.bitCount(mask);
        }
    }
}
