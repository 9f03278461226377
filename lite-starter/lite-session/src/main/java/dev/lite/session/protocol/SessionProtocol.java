package dev.lite.session.protocol;

/** The numbers that both sides of a session must agree on. */
public final class SessionProtocol {
    /** The version of the protocol that this side speaks. */
    public static final int VERSION = 9;

    /**
     * The oldest version with which this side works. A new version works with the one before, so that nodes and applications can be
     * upgraded one after the other, unless the protocol changes too much; then this is the same as the version. A session uses the
     * older one of both sides' versions.
     */
    public static final int OLDEST_VERSION = 8;

    /** From this version on, applications take channels to other hosts. */
    public static final int LINKS_VERSION = 9;

    /** The first word of a Hello, a Welcome and a Refused. It tells an old client from a program that speaks something else. */
    static final int MAGIC = 0x4C_49_54_45; // "LITE"

    /** The longest control message in bytes. */
    public static final int MESSAGE_BYTES_MAX = 32 * 1024;

    /** Longer lists are sent in pages of about this many bytes, so that replies fit into the socket's buffer. */
    static final int PAGE_BYTES = 8 * 1024;

    /** The longest text for people (reasons, messages), in bytes of UTF-8; longer ones are cut. */
    public static final int TEXT_BYTES_MAX = 2 * 1024;

    /** The longest name of a node, application, principal or fabric, in bytes of UTF-8. */
    public static final int NAME_BYTES_MAX = 512;

    /** The longest token, in bytes of UTF-8. */
    public static final int TOKEN_BYTES_MAX = 1024;

    /** The largest number of nodes in a placement. */
    static final int PLACEMENT_NODES_MAX = 1024;

    /** How many requests of a session may wait for locks and barriers; its other requests have a limit of their own. */
    public static final int WAITS_MAX = 1024;

    private SessionProtocol() {}

    /**
     * The default number of polls before either side blocks. Spinning pays only while the other side runs on another processor; on a
     * machine with few processors a spinning thread takes time from the thread it waits for.
     */
    public static int spinsDefault(int processors) {
        if (processors <= 1) {
            return 0;
        }
        return processors < 4 ? 1_000 : 4_000;
    }

    /**
     * This bit in the number of a handle or a function lowers the priority of one command. No number has it otherwise. There is
     * none that raises it.
     */
    public static final long LOW_PRIORITY = Long.MIN_VALUE;

    /** The operations of commands in slots; {@link SessionArea} has the fields. */
    public static final class Op {
        /** Reads {@code length} bytes of the LMR into the window. */
        public static final int READ = 1;
        /** Writes the window's first {@code length} bytes to the LMR. */
        public static final int WRITE = 2;
        /** Adds {@code operand0} to a word; the result is the previous value. */
        public static final int FETCH_ADD = 3;
        /** Sets a word to {@code operand1} if it equals {@code operand0}; the result is the previous value. */
        public static final int TEST_SET = 4;
        /**
         * Acquires the lock with the number in {@code lh} if it is free; {@code operand0} is the number of the attempt. The result is
         * the fencing token, or 0.
         */
        public static final int TRY_LOCK = 16;
        /**
         * Releases the lock with the number in {@code lh} and the fencing token {@code operand0}, if no one waits for it. If someone
         * does, the result is 0, the lock is still held, and the client must send {@link SessionMessage.ReleaseLock}.
         */
        public static final int UNLOCK = 17;
        /** Whether the lock with the number in {@code lh} is still held with the fencing token {@code operand0}: 1 or 0. */
        public static final int LOCK_HELD = 18;

        /**
         * Waits for the slot's time-out for the lock with the number in {@code lh}; {@code operand0} is the number of the attempt. The
         * result is the fencing token, or 0 if the attempt was cancelled.
         */
        public static final int LOCK = 19;

        /**
         * Calls the function, or sends to the port, with the number in {@code lh}. The window's first {@code length} bytes are the
         * context, of {@code operand1} bytes, and the request. {@code operand0} is the longest reply in bytes, within the slot's time-out. The reply is in the window
         * afterwards, and the result is its length.
         */
        public static final int CALL = 24;
        /**
         * Waits for the slot's time-out for a call of the function, or a message at the port, with the number in {@code lh}. It
         * is in the window afterwards, and the result is its length; the slot has the call's number and caller, and how many of the first bytes are the context.
         *
         * <p>{@code operand1} says whether the thread also waits for {@linkplain dev.lite.session.channel channels}: {@link
         * #BESIDE_CHANNELS} or 0. If that is not so, because the function got its first channel or has lost its last one, the node ends
         * the command with a time-out at once, unless a call is there.
         *
         * <p>{@code offset} is the number of {@linkplain FurtherCalls further calls} that the command may receive if they are queued
         * already and no other server and no other thread waits for them.
         */
        public static final int RECEIVE = 25;
        /** {@code operand1} of {@link #RECEIVE} and {@link #REPLY_AND_RECEIVE}: the function has channels. */
        public static final long BESIDE_CHANNELS = 1;

        /** Answers call {@code operand0} with the window's first {@code length} bytes. */
        public static final int REPLY = 26;
        /** {@link #REPLY}, whose outcome nobody waits for, and {@link #RECEIVE} in one. */
        public static final int REPLY_AND_RECEIVE = 27;
        /**
         * Fails call {@code operand0} with the handler's code {@code operand1} and the text in the window's first {@code length} bytes.
         * If {@code offset} is {@link #NOT_TAKEN}, the call fails as one of a function without a server.
         */
        public static final int FAIL = 28;
        /** {@code offset} of {@link #FAIL}: no thread of the application has taken the call, or it declined it: it was certainly not executed. */
        public static final long NOT_TAKEN = 1;
        /**
         * In {@code operand1} of {@link #REPLY} and {@link #FAIL}: the application does not wait for the outcome. If the node cannot send
         * the answer, it fails the call. Without it the call is still unanswered then. Older nodes ignore it.
         */
        public static final long UNWATCHED = 1L << 32;

        /** Sets {@code length} bytes of the LMR, at most a window, to the lowest byte of {@code operand0}. */
        public static final int MEMSET = 5;

        private Op() {}

        /** Whether the operation accesses an LMR. */
        public static boolean isAccess(int op) {
            return op >= READ && op <= MEMSET;
        }

        /** Whether the operation accesses a word, and returns its former value. */
        public static boolean isAtomic(int op) {
            return op == FETCH_ADD || op == TEST_SET;
        }

        /** Whether the operation belongs to locks and needs no wait. */
        public static boolean isLock(int op) {
            return op >= TRY_LOCK && op <= LOCK_HELD;
        }

        /** Whether the operation may wait for others: it belongs to calls and messages, or waits for a lock. */
        public static boolean mayWait(int op) {
            return (op >= CALL && op <= FAIL) || op == LOCK;
        }

        /** The operation's name for messages. */
        public static String nameOf(int op) {
            return switch (op) {
                case READ -> "read";
                case WRITE -> "write";
                case FETCH_ADD -> "fetchAdd";
                case TEST_SET -> "testSet";
                case CALL -> "call";
                case RECEIVE -> "receive";
                case REPLY -> "reply";
                case REPLY_AND_RECEIVE -> "replyAndReceive";
                case FAIL -> "fail";
                case TRY_LOCK -> "tryLock";
                case UNLOCK -> "unlock";
                case LOCK_HELD -> "isHeld";
                case LOCK -> "lock";
                case MEMSET -> "memset";
                default -> "operation " + op;
            };
        }
    }
}
