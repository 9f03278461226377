package dev.lite.tier.node;

import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlHandler;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The calls that nodes make to each other, as methods: this side encodes, {@link Service} is called at the other one. */
final class NodeCalls {
    /** How many runs fit into a message. */
    static final int RUNS_MAX = 80;

    private static final int RUN_BYTES = 20;
    private static final byte ALLOCATE = 1;
    private static final byte FREE = 2;
    private static final byte REVOKE = 3;
    private static final byte BIND_FUNCTION = 32;
    private static final byte ROOM = 33;
    private static final byte KNOWN = 34;

    /** How many LMRs one message asks for. */
    private static final int KNOWN_MAX = 200;

    /** What a node does for others. Runs on virtual threads; may block; throws {@link dev.lite.api.LiteException}s. */
    interface Service extends LmrCalls.Service {
        /** Allocates chunks for an LMR; fewer than asked for when they need more than {@link #RUNS_MAX} runs. */
        List<Run> allocate(long lmrId, long chunkBytes, long count, PrincipalBytes.Charge charge);

        /** Takes extents of an LMR back; those that are back already are passed over. */
        void free(long lmrId, List<Run> runs);

        /** How full this node is. */
        Room room();

        /** Whether this process made an LMR and knows of it: one without a name, or one that is only just being made. */
        boolean knows(long lmrId);

        /** Ends every mapping of the LMR on this node, and returns when nobody here can touch it any more. */
        void revoke(long lmrId);
    }

    /**
     * How full a node is.
     *
     * @param dataBytes what its arena holds at most
     * @param freeBytes what is free of that; 0 when it takes nothing in
     */
    record Room(long dataBytes, long freeBytes) {
        long usedBytes() {
            return dataBytes - freeBytes;
        }
    }

    /** What a node does for the calls of others; likewise. */
    interface RpcService {
        /** See {@link dev.lite.tier.rpc.RpcEngine#bindFunction}. */
        long bindFunction(int node, String function, String principal, long headOffset, int generation);
    }

    private final ControlChannel channel;

    NodeCalls(ControlChannel channel) {
        this.channel = channel;
    }

    List<Run> allocate(
            int node, long lmrId, long chunkBytes, long count, PrincipalBytes.Charge charge, Deadline deadline) {
        byte[] principal = charge.principal().getBytes(StandardCharsets.UTF_8);
        ByteBuffer request = ByteBuffer.allocate(28 + principal.length);
        request.put(ALLOCATE).putLong(lmrId).putLong(chunkBytes).putLong(count);
        request.put((byte) (charge.limited() ? 1 : 0));
        request.putShort((short) principal.length).put(principal);
        return readRuns(channel.call(node, request.array(), deadline));
    }

    private static byte[] allocate(Service service, long lmrId, ByteBuffer request) {
        long chunkBytes = request.getLong();
        long count = request.getLong();
        boolean limited = request.get() != 0;
        PrincipalBytes.Charge charge = new PrincipalBytes.Charge(readString(request), limited);
        List<Run> runs = service.allocate(lmrId, chunkBytes, count, charge);
        ByteBuffer reply = ByteBuffer.allocate(4 + runs.size() * RUN_BYTES);
        writeRuns(reply, runs);
        return reply.array();
    }

    void free(int node, long lmrId, List<Run> runs, Deadline deadline) {
        for (int from = 0; from < runs.size(); from += RUNS_MAX) {
            List<Run> some = runs.subList(from, Math.min(runs.size(), from + RUNS_MAX));
            ByteBuffer request = ByteBuffer.allocate(13 + some.size() * RUN_BYTES);
            request.put(FREE).putLong(lmrId);
            writeRuns(request, some);
            channel.call(node, request.array(), deadline);
        }
    }

    /** Those of some LMRs that the node which made them knows; see {@link Service#knows}. */
    Set<Long> known(int node, List<Long> ids, Deadline deadline) {
        Set<Long> known = new HashSet<>();
        for (int from = 0; from < ids.size(); from += KNOWN_MAX) {
            List<Long> some = ids.subList(from, Math.min(ids.size(), from + KNOWN_MAX));
            ByteBuffer request = ByteBuffer.allocate(9 + some.size() * Long.BYTES);
            request.put(KNOWN).putLong(some.size());
            some.forEach(request::putLong);
            ByteBuffer reply = channel.call(node, request.array(), deadline);
            some.stream().filter(id -> reply.get() != 0).forEach(known::add);
        }
        return known;
    }

    private static byte[] known(Service service, long count, ByteBuffer request) {
        if (count < 0 || count > request.remaining() / Long.BYTES) {
            throw new IllegalArgumentException("%d ids in %d bytes".formatted(count, request.remaining()));
        }
        byte[] known = new byte[(int) count];
        for (int index = 0; index < known.length; index++) {
            known[index] = (byte) (service.knows(request.getLong()) ? 1 : 0);
        }
        return known;
    }

    Room room(int node, Deadline deadline) {
        byte[] request = new byte[9];
        request[0] = ROOM;
        ByteBuffer reply = channel.call(node, request, deadline);
        return new Room(reply.getLong(), reply.getLong());
    }

    void revoke(int node, long lmrId, Deadline deadline) {
        byte[] request = new byte[9];
        ByteBuffer.wrap(request).put(REVOKE).putLong(lmrId);
        channel.call(node, ControlChannel.Kind.TELL, request, deadline);
    }

    /** See {@link dev.lite.tier.rpc.RpcEngine#bindFunction}. */
    long bindFunction(int node, String function, String principal, long headOffset, int generation, Deadline deadline) {
        byte[] functionBytes = function.getBytes(StandardCharsets.UTF_8);
        byte[] principalBytes = principal.getBytes(StandardCharsets.UTF_8);
        ByteBuffer request = ByteBuffer.allocate(1 + 8 + 4 + 2 + functionBytes.length + 2 + principalBytes.length);
        request.put(BIND_FUNCTION).putLong(headOffset).putInt(generation);
        request.putShort((short) functionBytes.length).put(functionBytes);
        request.putShort((short) principalBytes.length).put(principalBytes);
        return channel.call(node, request.array(), deadline).getLong();
    }

    private static byte[] bindFunction(RpcService service, int node, long headOffset, ByteBuffer request) {
        int generation = request.getInt();
        String function = readString(request);
        String principal = readString(request);
        byte[] reply = new byte[Long.BYTES];
        ByteBuffer.wrap(reply).putLong(service.bindFunction(node, function, principal, headOffset, generation));
        return reply;
    }

    private static String readString(ByteBuffer from) {
        byte[] bytes = new byte[Math.clamp(from.getShort(), 0, from.remaining())];
        from.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * Decodes requests for the services.
     *
     * @param sync has the kinds of {@link SyncNodeCalls}
     */
    static ControlHandler handler(Service service, RpcService rpc, ControlHandler sync) {
        return (node, request) -> {
            try {
                byte first = request.duplicate().get();
                if (first >= SyncNodeCalls.KIND_FIRST && first <= SyncNodeCalls.KIND_LAST) {
                    return sync.handle(node, request);
                }
                byte kind = request.get();
                long lmrId = request.getLong();
                if (kind >= LmrCalls.FIRST_KIND && kind <= LmrCalls.LAST_KIND) {
                    return LmrCalls.handle(node, kind, lmrId, request, service);
                }
                switch (kind) {
                    case ALLOCATE -> {
                        return allocate(service, lmrId, request);
                    }
                    case BIND_FUNCTION -> {
                        return bindFunction(rpc, node, lmrId, request);
                    }
                    case KNOWN -> {
                        return known(service, lmrId, request); // a count is in the place of the id
                    }
                    case ROOM -> {
                        Room room = service.room();
                        return ByteBuffer.allocate(2 * Long.BYTES)
                                .putLong(room.dataBytes())
                                .putLong(room.freeBytes())
                                .array();
                    }
                    case FREE -> service.free(lmrId, readRuns(request));
                    case REVOKE -> service.revoke(lmrId);
                    default -> throw new IllegalArgumentException("unknown request " + kind + " of node " + node);
                }
                return new byte[0];
            } catch (BufferUnderflowException e) {
                throw new IllegalArgumentException("a request of node " + node + " is too short", e);
            }
        };
    }

    private static void writeRuns(ByteBuffer to, List<Run> runs) {
        to.putInt(runs.size());
        for (Run run : runs) {
            to.putLong(run.offset()).putLong(run.length()).putInt(run.entry());
        }
    }

    private static List<Run> readRuns(ByteBuffer from) {
        int count = from.getInt();
        if (count < 0 || count > from.remaining() / RUN_BYTES) {
            throw new IllegalArgumentException("%d runs in %d bytes".formatted(count, from.remaining()));
        }
        List<Run> runs = new ArrayList<>(count);
        for (int left = count; left > 0; left--) {
            runs.add(new Run(from.getLong(), from.getLong(), from.getInt()));
        }
        return runs;
    }
}
