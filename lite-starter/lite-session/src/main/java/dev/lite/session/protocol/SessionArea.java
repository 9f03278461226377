package dev.lite.session.protocol;

/**
 * Where everything lies in the memory that a session's two sides share. The node makes it (a memfd, zeroed, sealed
 * against shrinking) and passes its descriptor with {@link SessionMessage.Welcome}. All words are in native byte order.
 *
 * <pre>
 *   0        header, one page
 *     64       doorbell   int   1 while the node's thread sleeps or is about to; futex word
 *     128      submitted  long  bit s: slot s holds a command that the node has not taken yet
 *   4096     slots, {@value #SLOT_BYTES} bytes each; the first line is the client's, the second the node's
 *     +0       op         int   {@link SessionProtocol.Op}
 *     +8       lh         long  the handle
 *     +16      offset     long  in the LMR, bytes
 *     +24      length     long  bytes, at most the window's
 *     +32      operand0   long
 *     +40      operand1   long
 *     +64      state      int   {@link #STATE_IDLE} … ; futex word
 *     +68      status     int   0 or the number of a {@link dev.lite.api.LiteException.Code}
 *     +72      result     long  value before (atomics); bytes of the error's text in the window (status not 0)
 *     +80      call       long  the number of the call that was received
 *     +88      origin     long  who made it; see {@link SessionMessage.RpcOrigin}
 *   windows, page aligned, {@code windowBytes} each: the data of a slot's command
 * </pre>
 *
 * <p><b>One operation.</b> A client thread owns a free slot (who owns which slot is the client's private matter), fills
 * the command and, for a write, the window, sets {@code state} to {@link #STATE_PENDING}, adds the slot's bit to
 * {@code submitted} and, if {@code doorbell} is 1, changes it to 0 and wakes the node's thread. The node takes all bits at
 * once, copies each command before it checks it, carries it out, fills status and result and changes {@code state} to
 * {@link #STATE_DONE}; if it was {@link #STATE_SLEEPING} it wakes the waiter. The submission word is the session's ring: it
 * cannot overflow, has no gap when a client thread is preempted in the middle, and every value of it means something,
 * whoever wrote it. Bits are added and taken by atomic addition, which is the same as or/and-not because only the
 * slot's owner adds its bit, and only after the node took the one before.
 *
 * <p><b>Trust.</b> The application may write anything here at any time. The node therefore reads each command word once,
 * and what it reads in windows is only ever data. The client believes what the node writes, but a text's length is
 * checked all the same.
 *
 * @param slots how many commands can be under way, 1 to {@value #SLOTS_MAX}
 * @param windowBytes size of a slot's window, a multiple of {@value #PAGE_BYTES}
 */
public record SessionArea(int slots, int windowBytes) {
    /** One bit per slot in a 64-bit word. */
    public static final int SLOTS_MAX = 64;

    /** Granularity of windows, and the size of the header. */
    public static final int PAGE_BYTES = 4096;

    /** Upper limit of a window: 64 slots of it are 1 GiB. */
    public static final int WINDOW_BYTES_MAX = 16 * 1024 * 1024;

    /** Two cache lines, which are also what the processor prefetches together. */
    public static final int SLOT_BYTES = 128;

    /** Offset of the doorbell in the area. */
    public static final long DOORBELL = 64;

    /** Offset of the submission word in the area. */
    public static final long SUBMITTED = 128;

    /** Offset of the operation in a slot. */
    public static final long OP = 0;

    /** Offset of the handle in a slot. */
    public static final long LH = 8;

    /** Offset of the LMR offset in a slot. */
    public static final long OFFSET = 16;

    /** Offset of the length in a slot. */
    public static final long LENGTH = 24;

    /** Offset of the first operand in a slot. */
    public static final long OPERAND0 = 32;

    /** Offset of the second operand in a slot. */
    public static final long OPERAND1 = 40;

    /** Offset of the state in a slot. */
    public static final long STATE = 64;

    /** Offset of the status in a slot. */
    public static final long STATUS = 68;

    /** Offset of the result in a slot. */
    public static final long RESULT = 72;

    /** Offset of the received call's number in a slot. */
    public static final long CALL = 80;

    /** Offset of the received call's origin in a slot. */
    public static final long ORIGIN = 88;

    /** State of a slot that was never used. */
    public static final int STATE_IDLE = 0;

    /** A command was submitted; its waiter, if any, spins. */
    public static final int STATE_PENDING = 1;

    /** A command was submitted and its waiter sleeps on the state word. */
    public static final int STATE_SLEEPING = 2;

    /** The node completed the command. */
    public static final int STATE_DONE = 3;

    /** The client's own: the session was lost while the command was pending. */
    public static final int STATE_LOST = 4;

    /** {@link #DOORBELL}: the node's thread looks at the submission word by itself. */
    public static final int DOORBELL_AWAKE = 0;

    /** {@link #DOORBELL}: who submits must wake the node's thread. */
    public static final int DOORBELL_SLEEPING = 1;

    /** Checks the geometry, also one that came over the wire. */
    public SessionArea {
        if (slots < 1 || slots > SLOTS_MAX) {
            throw new IllegalArgumentException("session slots: %d; must be 1 to %d".formatted(slots, SLOTS_MAX));
        }
        if (windowBytes < PAGE_BYTES || windowBytes > WINDOW_BYTES_MAX || windowBytes % PAGE_BYTES != 0) {
            throw new IllegalArgumentException("session window: %d bytes; must be a multiple of %d up to %d"
                    .formatted(windowBytes, PAGE_BYTES, WINDOW_BYTES_MAX));
        }
    }

    /** Size of the whole area in bytes. */
    public long bytes() {
        return windowsOffset() + (long) slots * windowBytes;
    }

    /** All bits that may be set in the submission word. */
    public long slotBits() {
        return slots == SLOTS_MAX ? -1L : (1L << slots) - 1;
    }

    /** Offset of a slot's command and completion in the area. */
    public static long slotOffset(int slot) {
        return PAGE_BYTES + (long) slot * SLOT_BYTES;
    }

    /** Offset of a slot's window in the area. */
    public long windowOffset(int slot) {
        return windowsOffset() + (long) slot * windowBytes;
    }

    private long windowsOffset() {
        // The largest slot table, 64 slots of 128 bytes, is two pages; it always takes them, so that the place of the
        // windows does not depend on the number of slots.
        return PAGE_BYTES + (long) SLOTS_MAX * SLOT_BYTES;
    }
}
