package dev.lite.session.protocol;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** The numbers that both sides of a session must agree on. */
public final class SessionProtocol {
    /** The version that this code speaks. There is no negotiation: both sides must speak the same one. */
    public static final int VERSION = 1;

    /** First word of every message that opens a session, so that a stray connection is told from an old client. */
    static final int MAGIC = 0x4C_49_54_45; // "LITE"

    /** No control message is longer, in bytes. */
    public static final int MESSAGE_BYTES_MAX = 32 * 1024;

    /** A list that may be longer travels in pages of about this many bytes, so that replies fit the socket's buffer. */
    static final int PAGE_BYTES = 8 * 1024;

    /** Upper limit of every text that a person reads (reasons, messages), in bytes of UTF-8; longer ones are cut. */
    public static final int TEXT_BYTES_MAX = 2 * 1024;

    /** Upper limit of the names of nodes, applications, principals and fabrics, in bytes of UTF-8. */
    public static final int NAME_BYTES_MAX = 512;

    /** Upper limit of a token, in bytes of UTF-8. */
    public static final int TOKEN_BYTES_MAX = 1024;

    /** How many nodes a placement may name. */
    static final int PLACEMENT_NODES_MAX = 1024;

    /** How many requests of a session may wait for a lock or at a barrier, beside its other requests. */
    public static final int WAITS_MAX = 1024;

    private SessionProtocol() {}

    /** UTF-8 of as many of the text's first characters as fit into so many bytes. */
    public static byte[] cut(String text, int bytesMax) {
        CharsetEncoder encoder = StandardCharsets.UTF_8
                .newEncoder()
                .onMalformedInput(CodingErrorAction.REPLACE)
                .onUnmappableCharacter(CodingErrorAction.REPLACE);
        ByteBuffer out = ByteBuffer.allocate((int) Math.min(bytesMax, 3L * text.length()));
        CoderResult result = encoder.encode(CharBuffer.wrap(text), out, true);
        // Overflow is as good as underflow here: the encoder stopped after the last character that fits.
        assert !result.isError();
        out.flip();
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        return bytes;
    }

    /**
     * How often either side looks for the other's word before it sleeps. Spinning pays only while the other side can run on
     * another processor; with few of them a spinning thread takes the time from the one it waits for.
     */
    public static int spinsDefault(int processors) {
        if (processors <= 1) {
            return 0;
        }
        return processors < 4 ? 1_000 : 4_000;
    }

    /** What a command in a slot asks for; see {@link SessionArea} for its operands. */
    public static final class Op {
        /** Fill the window's first {@code length} bytes from the LMR. */
        public static final int READ = 1;
        /** Put the window's first {@code length} bytes into the LMR. */
        public static final int WRITE = 2;
        /** Add {@code operand0} to a word; the result is the value before. */
        public static final int FETCH_ADD = 3;
        /** Set a word to {@code operand1} if it holds {@code operand0}; the result is the value before. */
        public static final int TEST_SET = 4;
        /**
         * Acquire the lock whose number stands in place of the handle, if it is free; {@code operand0} numbers the attempt. The
         * result is the fencing token, or 0.
         */
        public static final int TRY_LOCK = 16;
        /**
         * Release the lock whose number stands in place of the handle and whose fencing token is {@code operand0}. The result
         * is 0 when somebody waits for it; {@link SessionMessage.ReleaseLock} must follow.
         */
        public static final int UNLOCK = 17;

        /**
         * Call the function or send to the port {@code lh} with the window's first {@code length} bytes; {@code operand0} is
         * the longest reply, {@code operand1} the deadline in nanoseconds. The reply is in the window, the result its length.
         */
        public static final int CALL = 24;
        /**
         * Wait for a call of the function, or a message at the port, {@code lh}, for {@code operand1} nanoseconds. It is in
         * the window, the result its length; the slot says which call it is, and whose.
         */
        public static final int RECEIVE = 25;
        /** Answer call {@code operand0} with the window's first {@code length} bytes. */
        public static final int REPLY = 26;
        /** {@link #REPLY} and {@link #RECEIVE} in one. */
        public static final int REPLY_AND_RECEIVE = 27;
        /** Fail call {@code operand0} with the text in the window's first {@code length} bytes. */
        public static final int FAIL = 28;

        /** Set so many bytes of the LMR, at most a window, to the lowest byte of {@code operand0}. */
        public static final int MEMSET = 5;

        private Op() {}

        /** Whether it is a command of calls and messages. */
        public static boolean isRpc(int op) {
            return op >= CALL && op <= FAIL;
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
                case MEMSET -> "memset";
                default -> "operation " + op;
            };
        }
    }
}
