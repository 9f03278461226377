package dev.lite.client;

import dev.lite.os.FutexWords;
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
    public boolean announce(int slot, FutexWords words) {
        announce(slot);
        if (RawMemory.getIntAcquire(address(slot)) != SessionArea.STATE_SLEEPING) {
            return false;
        }
        words.add(address(slot), SessionArea.STATE_SLEEPING);
        return true;
    }

    /** Announces a sleep, unless the command is done. */
    void announce(int slot) {
        RawMemory.compareAndSetInt(address(slot), SessionArea.STATE_PENDING, SessionArea.STATE_SLEEPING);
    }

    private long address(int slot) {
        return base + SessionArea.slotOffset(slot) + SessionArea.STATE;
    }
}
