package dev.lite.tier.node;

import dev.lite.cluster.LmrRecord.Run;
import dev.lite.tier.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlHandler;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The calls that nodes make to each other, as methods: this side encodes, {@link Service} is called at the other one. */
final class NodeCalls {
    /** How many runs fit into a message. */
    static final int RUNS_MAX = 80;

    private static final int RUN_BYTES = 20;
    private static final byte ALLOCATE = 1;
    private static final byte FREE = 2;
    private static final byte REVOKE = 3;

    /** What a node does for others. Runs on virtual threads; may block; throws {@link dev.lite.api.LiteException}s. */
    interface Service extends LmrCalls.Service {
        /** Allocates chunks for an LMR; fewer than asked for when they need more than {@link #RUNS_MAX} runs. */
        List<Run> allocate(long lmrId, long chunkBytes, long count);

        /** Takes extents of an LMR back; those that are back already are passed over. */
        void free(long lmrId, List<Run> runs);

        /** Ends every mapping of the LMR on this node, and returns when nobody here can touch it any more. */
        void revoke(long lmrId);
    }

    private final ControlChannel channel;

    NodeCalls(ControlChannel channel) {
        this.channel = channel;
    }

    List<Run> allocate(int node, long lmrId, long chunkBytes, long count, Deadline deadline) {
        byte[] request = new byte[25];
        ByteBuffer.wrap(request)
                .put(ALLOCATE)
                .putLong(lmrId)
                .putLong(chunkBytes)
                .putLong(count);
        return readRuns(channel.call(node, request, deadline));
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

    void revoke(int node, long lmrId, Deadline deadline) {
        byte[] request = new byte[9];
        ByteBuffer.wrap(request).put(REVOKE).putLong(lmrId);
        channel.call(node, ControlChannel.Kind.TELL, request, deadline);
    }

    /** Decodes requests for a service. */
    static ControlHandler handler(Service service) {
        return (node, request) -> {
            try {
                byte kind = request.get();
                long lmrId = request.getLong();
                if (kind >= LmrCalls.FIRST_KIND && kind <= LmrCalls.LAST_KIND) {
                    return LmrCalls.handle(node, kind, lmrId, request, service);
                }
                switch (kind) {
                    case ALLOCATE -> {
                        List<Run> runs = service.allocate(lmrId, request.getLong(), request.getLong());
                        ByteBuffer reply = ByteBuffer.allocate(4 + runs.size() * RUN_BYTES);
                        writeRuns(reply, runs);
                        return reply.array();
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
