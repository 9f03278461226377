package dev.lite.client;

import dev.lite.os.RawMemory;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.waiting.VirtualWaits;

/**
 * The states of a session's slots, for the waits of virtual threads.
 *
 * @param base the address of the session area
 */
record SlotStates(long base) implements VirtualWaits.Words {
    @Override
    public boolean isOver(int slot) {
        return RawMemory.getIntAcquire(address(slot)) == SessionArea.STATE_DONE;
    }

    @Override
    public int announce(int slot) {
        long state = address(slot);
        RawMemory.compareAndSetInt(state, SessionArea.STATE_PENDING, SessionArea.STATE_SLEEPING);
        boolean sleeping = RawMemory.getIntAcquire(state) == SessionArea.STATE_SLEEPING;
        return sleeping ? SessionArea.STATE_SLEEPING : 0;
    }

    @Override
    public long address(int slot) {
        return base + SessionArea.slotOffset(slot) + SessionArea.STATE;
    }
}
