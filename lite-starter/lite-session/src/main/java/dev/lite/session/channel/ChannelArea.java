package dev.lite.session.channel;

import dev.lite.os.SharedMemory;

/**
 * The layout of a channel's memory: a memfd, filled with zeros and sealed against shrinking. All words are in native byte order.
 *
 * <pre>
 *   0        header, one page
 *     64       doorbell   int   0: no server thread sleeps; 1: one sleeps, and none looks; 2: others may sleep; futex word
 *     128      submitted  long  bit s: slot s has a request that no server thread has taken
 *     192      ended      int   not 0: one of the ends has ended the channel
 *   4096     slots, 128 bytes each
 *     +0       request    int   its length in bytes, with its context (20 bits), and that of the context; the caller writes it
 *     +4       capacity   int   the longest reply that the caller takes, in bytes; the caller writes it
 *     +64      word       int   {@link SlotWord}; futex word
 *     +68      status     int   0, or the number of a {@link dev.lite.api.LiteException.Code}; the server writes it
 *     +72      reply      int   its length in bytes, or that of the {@link dev.lite.session.wire.WireError}; the server writes it
 *   windows, page aligned, {@code windowBytes} each: the context and the request of a slot, and then its reply
 * </pre>
 *
 * @param slots the number of calls that can be under way, 1 to {@value #SLOTS_MAX}
 * @param windowBytes the longest request and the longest reply in bytes, a multiple of {@value #WINDOW_UNIT_BYTES}
 */
public record ChannelArea(int slots, int windowBytes) {
    /** One bit per slot in a 64-bit word. */
    public static final int SLOTS_MAX = 64;

    /** Windows are multiples of two cache lines, in bytes. */
    public static final int WINDOW_UNIT_BYTES = 128;

    /** The largest window in bytes: 64 slots of this size take 4 MiB, of which the system allocates what is used. */
    public static final int WINDOW_BYTES_MAX = 64 << 10;

    static final long DOORBELL = 64;
    static final long SUBMITTED = 128;
    static final long ENDED = 192;

    static final long REQUEST_LENGTH = 0;
    /** In the word of the request's length: the length of the context lies above this bit. */
    static final int CONTEXT_SHIFT = 20;

    static final int LENGTH_MASK = (1 << CONTEXT_SHIFT) - 1;
    static final long CAPACITY = 4;
    static final long WORD = 64;
    static final long STATUS = 68;
    static final long REPLY_LENGTH = 72;

    private static final String NAME = "lite-channel";
    private static final int PAGE_BYTES = 4096;
    private static final int SLOT_BYTES = 128;
    private static final long WINDOWS = PAGE_BYTES + (long) SLOTS_MAX * SLOT_BYTES;

    /**
     * Checks the values, also those that arrived over the wire.
     *
     * @throws IllegalArgumentException when one is out of range
     */
    public ChannelArea {
        if (slots < 1 || slots > SLOTS_MAX) {
            throw new IllegalArgumentException("channel slots: %d; must be 1 to %d".formatted(slots, SLOTS_MAX));
        }
        if (windowBytes < WINDOW_UNIT_BYTES || windowBytes > WINDOW_BYTES_MAX || windowBytes % WINDOW_UNIT_BYTES != 0) {
            throw new IllegalArgumentException("channel window: %d bytes; must be a multiple of %d up to %d"
                    .formatted(windowBytes, WINDOW_UNIT_BYTES, WINDOW_BYTES_MAX));
        }
    }

    /** Creates the memory of a new channel. */
    public SharedMemory create() {
        return SharedMemory.createMemfd(NAME, bytes());
    }

    /** As {@link #create}, for a node, which does not map it. The caller closes the descriptor. */
    public int createDescriptor() {
        return SharedMemory.newMemfd(NAME, bytes());
    }

    /** The size of the whole area in bytes. */
    public long bytes() {
        return windowOffset(slots);
    }

    /** The bits of the submission word that belong to a slot. */
    long slotBits() {
        return slots == SLOTS_MAX ? -1L : (1L << slots) - 1;
    }

    static long slotOffset(int slot) {
        return PAGE_BYTES + (long) slot * SLOT_BYTES;
    }

    long windowOffset(int slot) {
        return WINDOWS + (long) slot * windowBytes;
    }
}
