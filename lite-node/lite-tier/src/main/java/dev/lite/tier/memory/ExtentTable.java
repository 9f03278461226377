package dev.lite.tier.memory;

import dev.lite.os.RawMemory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/**
 * The table of an arena's allocated extents. It lies in the arena itself, so it survives a stop of the process at any
 * instant.
 *
 * <p>An entry is four 64-bit words: LMR id, offset, length, and a commit word of state and checksum. The commit word is
 * written last, in one store. SIGKILL stops a process between two stores, never inside one, so an entry is either
 * complete or invalid. Memory without an entry is free and clean.
 *
 * <p>The commit word also counts how often its entry was cleared. This count and the entry's index make the entry's
 * {@link #name}: the next extent at the same entry has another name. A free that arrives late, or a second time, names
 * the extent that it was meant for, and frees no other, even if the same LMR has returned to the same bytes.
 *
 * <p>A split or merge writes the new entries before it clears the old one, so entries may overlap after a crash:
 * {@link State#UNCLEAN} entries may overlap any others, {@link State#ALLOCATED} entries never overlap each other.
 *
 * <p>Not thread-safe: the allocator's lock guards it.
 */
final class ExtentTable {
    static final int ENTRY_BYTES = 32;

    /** The state of an entry's bytes. */
    enum State {
        /** The entry is unused. */
        EMPTY(0),
        /** The bytes belong to an LMR. */
        ALLOCATED(1),
        /** The bytes are free, but still contain their former owner's data. */
        UNCLEAN(2);

        private final int number;

        State(int number) {
            this.number = number;
        }
    }

    private static final int WORDS_BYTES = 4 * Long.BYTES;

    private static final int STATE_SHIFT = 56;

    /** Above the checksum, below the state: how often the entry was cleared. */
    private static final int CLEARED_SHIFT = Integer.SIZE;

    private static final int CLEARED_MASK = (1 << (STATE_SHIFT - CLEARED_SHIFT)) - 1;

    private final long address;
    private final int capacity;
    private final int indexBits;
    private final CRC32C crc = new CRC32C();
    private final byte[] crcBytes = new byte[WORDS_BYTES + Integer.BYTES];
    private final ByteBuffer crcBuffer = ByteBuffer.wrap(crcBytes);

    ExtentTable(long address, int capacity) {
        this.address = address;
        this.capacity = capacity;
        this.indexBits = Integer.SIZE - Integer.numberOfLeadingZeros(capacity - 1);
    }

    int capacity() {
        return capacity;
    }

    /**
     * Writes a whole entry; the last store makes it valid. Only the state of a valid entry may change: otherwise a
     * process that stops half way leaves an entry that fails its checksum.
     */
    void put(int entry, State state, long lmrId, long offset, long length) {
        long at = at(entry);
        RawMemory.putLong(at, lmrId);
        RawMemory.putLong(at + 8, offset);
        RawMemory.putLong(at + 16, length);
        RawMemory.putLongRelease(at + 24, commit(entry, state, lmrId, offset, length));
    }

    void clear(int entry) {
        long next = (cleared(entry) + 1) & CLEARED_MASK;
        RawMemory.putLongRelease(at(entry) + 24, next << CLEARED_SHIFT);
    }

    private long cleared(int entry) {
        return (RawMemory.getLongAcquire(at(entry) + 24) >>> CLEARED_SHIFT) & CLEARED_MASK;
    }

    /**
     * The name of the extent at an entry: the index, and above it the lower bits of the entry's count of clears. With
     * 65,536 entries a name recurs after 32,768 extents at the same entry. Equal to the index for the first one.
     */
    int name(int entry) {
        return (int) (cleared(entry) << indexBits | entry) & Integer.MAX_VALUE;
    }

    /** The entry of an extent with this name; negative if it has another extent now. */
    int entryOf(int name) {
        int entry = name & ((1 << indexBits) - 1);
        return name >= 0 && entry < capacity && name(entry) == name ? entry : -1;
    }

    State state(int entry) {
        int number = (int) (RawMemory.getLongAcquire(at(entry) + 24) >>> STATE_SHIFT);
        return number == State.ALLOCATED.number
                ? State.ALLOCATED
                : number == State.UNCLEAN.number ? State.UNCLEAN : State.EMPTY;
    }

    long lmrId(int entry) {
        return RawMemory.getLong(at(entry));
    }

    long offset(int entry) {
        return RawMemory.getLong(at(entry) + 8);
    }

    long length(int entry) {
        return RawMemory.getLong(at(entry) + 16);
    }

    /**
     * Checks every entry.
     *
     * @throws ArenaException if an entry fails its checksum or does not lie in the data
     */
    void check(Path file, long dataOffset, long arenaBytes) {
        for (int entry = 0; entry < capacity; entry++) {
            long commit = RawMemory.getLongAcquire(at(entry) + 24);
            if (commit == cleared(entry) << CLEARED_SHIFT) {
                continue;
            }
            State state = state(entry);
            long offset = offset(entry);
            long length = length(entry);
            if (state == State.EMPTY || commit != commit(entry, state, lmrId(entry), offset, length)) {
                throw new ArenaException(
                        "cannot adopt the arena %s: entry %d of its extent table fails its checksum. Its content is corrupt; delete the file to start with an empty arena"
                                .formatted(file, entry),
                        null);
            }
            if (offset < dataOffset || length <= 0 || length > arenaBytes - offset) {
                throw new ArenaException(
                        "cannot adopt the arena %s: entry %d of its extent table says offset %d, length %d; the data lies from %d to %d"
                                .formatted(file, entry, offset, length, dataOffset, arenaBytes),
                        null);
            }
        }
    }

    private long at(int entry) {
        if (entry < 0 || entry >= capacity) {
            throw new IndexOutOfBoundsException("extent entry %d of %d".formatted(entry, capacity));
        }
        return address + (long) entry * ENTRY_BYTES;
    }

    private long commit(int entry, State state, long lmrId, long offset, long length) {
        crcBuffer.clear();
        crcBuffer
                .putLong(lmrId)
                .putLong(offset)
                .putLong(length)
                .putLong(state.number)
                .putInt(name(entry));
        crc.reset();
        crc.update(crcBytes);
        return ((long) state.number << STATE_SHIFT) | (cleared(entry) << CLEARED_SHIFT) | crc.getValue();
    }
}
