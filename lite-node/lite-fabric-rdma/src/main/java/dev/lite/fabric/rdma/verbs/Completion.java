package dev.lite.fabric.rdma.verbs;

import dev.lite.fabric.FabricError;
import dev.lite.os.RawMemory;

/**
 * Reads a completion, the {@code struct ibv_wc} that the verbs write, by its address. Also encodes and decodes request ids. Only the id
 * identifies a completion's request, because after an error the queue pair and the opcode in the completion are undefined.
 *
 * <pre>
 *  63 is a receive   62..48 generation of the lane   47..32 index of the lane
 *  31..0 count of the request, or place of the receive
 * </pre>
 */
public final class Completion {
    /** Size of a completion, in bytes. */
    public static final int BYTES = 48;

    /** Maximum number of lanes at a time. */
    public static final int LANES_MAX = 1 << 16;

    public static final int GENERATION_MASK = 0x7FFF;
    private static final int GENERATION_SHIFT = 16;
    private static final long RECEIVE = 1L << 63;
    private static final int TAG_MASK = 0x7FFF_FFFF;

    // struct ibv_wc
    private static final int ID = 0;
    private static final int STATUS = 8;
    private static final int BYTE_LENGTH = 20;
    private static final int IMMEDIATE = 24;
    private static final int FLAGS = 36;
    private static final int WITH_IMMEDIATE = 2;

    // enum ibv_wc_status
    private static final int SUCCESS = 0;
    private static final int REMOTE_ACCESS = 10;
    private static final int RETRIES_EXCEEDED = 12;
    private static final int RECEIVER_RETRIES_EXCEEDED = 13;
    private static final String[] STATUSES = {
        "success",
        "local length error",
        "local queue pair operation error",
        "local end-to-end context error",
        "local protection error",
        "flushed",
        "memory window bind error",
        "bad response",
        "local access error",
        "remote invalid request",
        "remote access error",
        "remote operation error",
        "no acknowledgement after all retries",
        "receiver not ready after all retries",
        "local read domain violation",
        "remote invalid read request",
        "remote aborted",
        "invalid end-to-end context number",
        "invalid end-to-end context state",
        "fatal",
        "response timeout",
        "general error"
    };

    private Completion() {}

    /** The tag of a lane, which is part of its requests' ids. */
    public static int tag(int index, int generation) {
        return ((generation & GENERATION_MASK) << GENERATION_SHIFT) | index;
    }

    public static int index(int tag) {
        return tag & (LANES_MAX - 1);
    }

    public static long sendId(int tag, int count) {
        return ((long) tag << Integer.SIZE) | Integer.toUnsignedLong(count);
    }

    public static long receiveId(int tag, int count) {
        return RECEIVE | sendId(tag, count);
    }

    public static boolean isReceive(long id) {
        return id < 0;
    }

    public static int tag(long id) {
        return (int) (id >>> Integer.SIZE) & TAG_MASK;
    }

    public static int count(long id) {
        return (int) id;
    }

    public static long id(long completion) {
        return RawMemory.getLong(completion + ID);
    }

    public static int status(long completion) {
        return RawMemory.getInt(completion + STATUS);
    }

    public static boolean isSuccess(int status) {
        return status == SUCCESS;
    }

    public static int byteLength(long completion) {
        return RawMemory.getInt(completion + BYTE_LENGTH);
    }

    public static boolean hasImmediate(long completion) {
        return (RawMemory.getInt(completion + FLAGS) & WITH_IMMEDIATE) != 0;
    }

    public static int immediate(long completion) {
        return RawMemory.getInt(completion + IMMEDIATE);
    }

    /** The error to report for a failed operation. */
    public static FabricError error(int status) {
        return switch (status) {
            case REMOTE_ACCESS -> FabricError.REFUSED;
            case RETRIES_EXCEEDED, RECEIVER_RETRIES_EXCEEDED -> FabricError.TIMED_OUT;
            default -> FabricError.FLUSHED;
        };
    }

    public static String describe(int status) {
        return status >= 0 && status < STATUSES.length ? STATUSES[status] : "status " + status;
    }
}
