package dev.lite.session.protocol;

/**
 * The layout of the memory that the two sides of a session share. The node creates it (a memfd, filled with zeros and sealed against
 * shrinking) and sends its descriptor with {@link SessionMessage.Welcome}. All words are in native byte order.
 *
 * <pre>
 *   0        header, one page
 *     64       doorbell   int   1 while the node's thread is blocked or about to block; futex word
 *     128      submitted  long  bit s: slot s holds a command that the node has not fetched yet
 *     192      lost       long  how often the session lost locks because its node was fenced; the node writes it
 *     256      bell       int   1 while the client's thread for watched slots is blocked or about to block; futex word
 *   4096     slots, {@value #SLOT_BYTES} bytes each; the client writes the first cache line, the node the second
 *     +0       op         int   {@link SessionProtocol.Op}
 *     +8       lh         long  the handle
 *     +16      offset     long  in the LMR, bytes
 *     +24      length     long  bytes, at most the window's
 *     +32      operand0   long
 *     +40      operand1   long
 *     +48      timeout    long  nanoseconds that the node may take, from the moment when it fetches the command
 *     +64      state      int   {@link #STATE_IDLE} … ; futex word
 *     +68      status     int   0 or the number of a {@link dev.lite.api.LiteException.Code}
 *     +72      result     long  previous value (atomics), or, if the status is not 0, the length of the {@link dev.lite.session.wire.WireError} in the window
 *     +80      call       long  the number of the received call
 *     +88      origin     long  its caller; see {@link SessionMessage.RpcOrigin}
 *     +96      context    int   how many of the window's first bytes are its context; 0: it has none
 *     +100     further    int   how many further calls follow in the window; see {@link FurtherCalls}
 *     +104     reply      int   the longest reply that the caller of the received call takes, in bytes
 *   windows, page aligned, {@code windowBytes} each: the data of a slot's command
 * </pre>
 *
 * <p><b>One operation.</b>
 *
 * <ol>
 *   <li>A client thread acquires a free slot (the client alone keeps track of the owners), and fills in the command and, for a write,
 *       the window.
 *   <li>It sets {@code state} to {@link #STATE_PENDING} and adds the slot's bit to {@code submitted}. If {@code doorbell} is 1, it
 *       changes it to 0 and wakes the node's thread; see {@link Doorbell}.
 *   <li>The node fetches all bits at once, copies each command before it checks it, executes it, and fills in status and result.
 *   <li>It sets {@code state} to {@link #STATE_DONE}, and wakes the client thread if the state was {@link #STATE_SLEEPING}. If it was
 *       {@link #STATE_WATCHED} and {@code bell} is 1, it changes that to 0 and wakes the client's thread for watched slots; see
 *       {@link CompletionBell}.
 * </ol>
 *
 * <p>The submission word takes the place of a ring: it cannot overflow, it has no gap when a client thread is preempted between two
 * steps, and every value is meaningful, even one from a faulty client. The client sets a bit by addition, which equals a bitwise or:
 * only the slot's owner sets its bit, and only after the node has fetched the previous one.
 *
 * <p><b>Trust.</b> The application may write anything here at any time. The node therefore reads each command word exactly once, and
 * treats the content of windows as data only. The client trusts the node, but still checks the length of texts.
 *
 * @param slots the number of commands that can be under way, 1 to {@value #SLOTS_MAX}
 * @param windowBytes the size of a slot's window in bytes, a multiple of {@value #PAGE_BYTES}
 */
public record SessionArea(int slots, int windowBytes) {
    /** One bit per slot in a 64-bit word. */
    public static final int SLOTS_MAX = 64;

    /** The size of the header, and the granularity of windows, in bytes. */
    public static final int PAGE_BYTES = 4096;

    /** The largest window in bytes: 64 slots of this size take 1 GiB. */
    public static final int WINDOW_BYTES_MAX = 16 * 1024 * 1024;

    /** Two cache lines, which processors prefetch together. */
    public static final int SLOT_BYTES = 128;

    /** Offset of the doorbell in the area. */
    public static final long DOORBELL = 64;

    /** Offset of the submission word in the area. */
    public static final long SUBMITTED = 128;

    /** Offset of the number of losses of locks in the area. */
    public static final long LOCKS_LOST = 192;

    /** Offset of the bell in the area. */
    public static final long BELL = 256;

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

    /** Offset of the time-out in a slot. */
    public static final long TIMEOUT_NS = 48;

    /** Offset of the state in a slot. */
    public static final long STATE = 64;

    /** Offset of the status in a slot. */
    public static final long STATUS = 68;

    /** Offset of the result in a slot. */
    public static final long RESULT = 72;

    /** Offset of the received call's number in a slot. */
    public static final long CALL = 80;

    /** Offset of the received call's caller in a slot. */
    public static final long ORIGIN = 88;

    /** Offset of the length of the received call's context in a slot. */
    public static final long CONTEXT = 96;

    /** Offset of the number of further calls in a slot. */
    public static final long FURTHER = 100;

    /** Offset of the length of the longest reply in a slot. */
    public static final long REPLY_BYTES_MAX = 104;

    /** State of a slot that was never used. */
    public static final int STATE_IDLE = 0;

    /** A command was submitted; its waiter, if any, spins. */
    public static final int STATE_PENDING = 1;

    /** A command was submitted and its waiter is blocked on the state word, or about to block. */
    public static final int STATE_SLEEPING = 2;

    /** The node completed the command. */
    public static final int STATE_DONE = 3;

    /** Set by the client only: the session was lost while the command was pending. */
    public static final int STATE_LOST = 4;

    /** A command was submitted; one client thread watches this slot and others, and blocks on {@link #BELL}. */
    public static final int STATE_WATCHED = 5;

    /** {@link #BELL}: the client's thread checks the states of its slots. */
    public static final int BELL_AWAKE = 0;

    /** {@link #BELL}: a node that completes a watched slot must wake the client's thread. */
    public static final int BELL_SLEEPING = 1;

    /** {@link #BELL}: the client's thread may sleep, and another one of the client checks the states in its place. */
    public static final int BELL_TAKEN = 2;

    /** {@link #DOORBELL}: the node's thread polls the submission word. */
    public static final int DOORBELL_AWAKE = 0;

    /** {@link #DOORBELL}: a client that submits must wake the node's thread. */
    public static final int DOORBELL_SLEEPING = 1;

    /**
     * Checks the values, also those that arrived over the wire.
     *
     * @throws IllegalArgumentException when one is out of range
     */
    public SessionArea {
        if (slots < 1 || slots > SLOTS_MAX) {
            throw new IllegalArgumentException("session slots: %d; must be 1 to %d".formatted(slots, SLOTS_MAX));
        }
        if (windowBytes < PAGE_BYTES || windowBytes > WINDOW_BYTES_MAX || windowBytes % PAGE_BYTES != 0) {
            throw new IllegalArgumentException("session window: %d bytes; must be a multiple of %d up to %d"
                    .formatted(windowBytes, PAGE_BYTES, WINDOW_BYTES_MAX));
        }
    }

    /** The size of the whole area in bytes. */
    public long bytes() {
        return windowsOffset() + (long) slots * windowBytes;
    }

    /** The bits of the submission word that belong to a slot. */
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
        // There is always room for 64 slots of 128 bytes, two pages. So the offset of the windows does not depend on
        // the number of slots.
        return PAGE_BYTES + (long) SLOTS_MAX * SLOT_BYTES;
    }
}
