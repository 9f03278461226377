package dev.lite.session.protocol;

import dev.lite.os.RawMemory;

/**
 * How further calls lie in the window of a command that received several: after the message of the first call, each with
 * a header and its message, at multiples of 8 bytes. The node writes them, and the client reads them.
 *
 * <pre>
 *   +0   call      long  the number of the received call
 *   +8   origin    long  its caller; see {@link SessionMessage.RpcOrigin}
 *   +16  length    int   bytes of the message: the context and the request
 *   +20  context   int   how many of the first bytes are the context
 *   +24  reply     int   the longest reply that the caller takes, in bytes
 *   +32  message
 * </pre>
 */
public final class FurtherCalls {
    /** The largest number of calls that a command receives beside the first one. */
    public static final int MAX = 15;

    private static final int ORIGIN = 8;
    private static final int LENGTH = 16;
    private static final int CONTEXT = 20;
    private static final int REPLY = 24;
    private static final int MESSAGE = 32;
    private static final int ALIGNMENT = 8;

    private FurtherCalls() {}

    /** The offset in the window of the first further call, after the first call's message. */
    public static long after(long firstBytes) {
        return (firstBytes + ALIGNMENT - 1) & -ALIGNMENT;
    }

    /** The offset of the next call, after the one at an offset that has a message of that length. */
    public static long after(long offset, long length) {
        return after(offset + MESSAGE + length);
    }

    /** The longest message that has room at an offset of a window; may be negative. */
    public static long room(long offset, long windowBytes) {
        return windowBytes - offset - MESSAGE;
    }

    /** Writes a header; the message must then be copied to {@link #message}. */
    public static void put(long address, long call, long origin, int length, int contextBytes, int replyBytesMax) {
        RawMemory.putLong(address, call);
        RawMemory.putLong(address + ORIGIN, origin);
        RawMemory.putInt(address + LENGTH, length);
        RawMemory.putInt(address + CONTEXT, contextBytes);
        RawMemory.putInt(address + REPLY, replyBytesMax);
    }

    /** The address of the message of the call at an address. */
    public static long message(long address) {
        return address + MESSAGE;
    }

    /** The number of the call at an address. */
    public static long call(long address) {
        return RawMemory.getLong(address);
    }

    /** The number of its caller. */
    public static long origin(long address) {
        return RawMemory.getLong(address + ORIGIN);
    }

    /** The length of its message in bytes, as the node wrote it. */
    public static int length(long address) {
        return RawMemory.getInt(address + LENGTH);
    }

    /** How many of its first bytes are the context, as the node wrote it. */
    public static int contextBytes(long address) {
        return RawMemory.getInt(address + CONTEXT);
    }

    /** The longest reply that its caller takes, in bytes. */
    public static int replyBytesMax(long address) {
        return RawMemory.getInt(address + REPLY);
    }
}
