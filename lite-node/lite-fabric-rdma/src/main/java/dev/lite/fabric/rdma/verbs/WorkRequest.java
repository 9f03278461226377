package dev.lite.fabric.rdma.verbs;

import dev.lite.os.RawMemory;

/**
 * Writes requests for the verbs at a native address: a {@code struct ibv_send_wr} or {@code struct ibv_recv_wr}, followed by its single
 * {@code struct ibv_sge}. The layouts are the ABI of libibverbs; a test compares them with the C compiler's.
 */
public final class WorkRequest {
    // enum ibv_wr_opcode
    public static final int WRITE = 0;
    public static final int WRITE_WITH_IMMEDIATE = 1;
    public static final int SEND = 2;
    public static final int READ = 4;

    /** Size of a send request with its scatter entry, in bytes. */
    public static final int SEND_BYTES = 144;
    /** Size of a receive request with its scatter entry, in bytes. */
    public static final int RECEIVE_BYTES = 48;

    // struct ibv_send_wr
    private static final int ID = 0;
    private static final int NEXT = 8;
    private static final int SCATTER = 16;
    private static final int SCATTER_COUNT = 24;
    private static final int OPCODE = 28;
    private static final int FLAGS = 32;
    private static final int IMMEDIATE = 36;
    private static final int REMOTE_ADDRESS = 40;
    private static final int REMOTE_KEY = 48;
    private static final int SEND_SCATTER = 128;
    // struct ibv_recv_wr has the same layout up to here
    private static final int RECEIVE_SCATTER = 32;
    // struct ibv_sge
    private static final int SCATTER_ADDRESS = 0;
    private static final int SCATTER_LENGTH = 8;
    private static final int SCATTER_KEY = 12;
    // enum ibv_send_flags
    private static final int SIGNALED = 2;
    private static final int SOLICITED = 4;
    private static final int INLINE = 8;

    private WorkRequest() {}

    /** Writes the constant fields of a send request. The memory must contain zeros. */
    public static void prepareSend(long request) {
        RawMemory.putLong(request + SCATTER, request + SEND_SCATTER);
    }

    /**
     * Writes a send request.
     *
     * @param local address of the data to send, or of the destination of a read; ignored if the length is 0
     * @param length length of the data, in bytes
     * @param copied whether posting copies the data into the request (inline); then the local key is ignored
     */
    public static void send(
            long request,
            int opcode,
            long id,
            long local,
            int length,
            int localKey,
            boolean copied,
            long remote,
            int remoteKey,
            int immediate) {
        RawMemory.putLong(request + ID, id);
        RawMemory.putInt(request + SCATTER_COUNT, length == 0 ? 0 : 1);
        RawMemory.putInt(request + OPCODE, opcode);
        RawMemory.putInt(request + FLAGS, flags(opcode, copied));
        RawMemory.putInt(request + IMMEDIATE, immediate);
        RawMemory.putLong(request + REMOTE_ADDRESS, remote);
        RawMemory.putInt(request + REMOTE_KEY, remoteKey);
        RawMemory.putLong(request + SEND_SCATTER + SCATTER_ADDRESS, local);
        RawMemory.putInt(request + SEND_SCATTER + SCATTER_LENGTH, length);
        RawMemory.putInt(request + SEND_SCATTER + SCATTER_KEY, localKey);
    }

    /** Requests that consume one of the peer's receives are solicited, so that they wake a waiting peer; others are not. */
    private static int flags(int opcode, boolean copied) {
        int arrives = opcode == SEND || opcode == WRITE_WITH_IMMEDIATE ? SOLICITED : 0;
        return SIGNALED | arrives | (copied ? INLINE : 0);
    }

    /** Writes a receive request with one buffer. */
    public static void receive(long request, long id, long local, int length, int localKey, long next) {
        RawMemory.putLong(request + ID, id);
        RawMemory.putLong(request + NEXT, next);
        RawMemory.putLong(request + SCATTER, request + RECEIVE_SCATTER);
        RawMemory.putInt(request + SCATTER_COUNT, 1);
        RawMemory.putLong(request + RECEIVE_SCATTER + SCATTER_ADDRESS, local);
        RawMemory.putInt(request + RECEIVE_SCATTER + SCATTER_LENGTH, length);
        RawMemory.putInt(request + RECEIVE_SCATTER + SCATTER_KEY, localKey);
    }

    /** Updates a receive request that is posted again. */
    public static void receiveAgain(long request, long id, long next) {
        RawMemory.putLong(request + ID, id);
        RawMemory.putLong(request + NEXT, next);
    }
}
