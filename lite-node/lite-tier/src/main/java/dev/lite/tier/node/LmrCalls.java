package dev.lite.tier.node;

import dev.lite.api.LmrUnavailableException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteWork.Part;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlChannel.Kind;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * What nodes ask each other about LMRs that exist, as methods: this side encodes, {@link Service} is called at the other one.
 * Deadlines travel as what is left of them, so that nobody works on when its caller has given up.
 */
final class LmrCalls {
    static final byte FIRST_KIND = 4;
    static final byte LAST_KIND = 15;

    private static final byte MEMSET = 4;
    private static final byte COPY = 5;
    private static final byte QUIESCE = 6;
    private static final byte RECORD = 7;
    private static final byte REFRESH = 8;
    private static final byte FREE = 9;
    private static final byte GRANT = 10;
    private static final byte MOVE = 11;
    private static final byte EVACUATE = 12;

    private static final int RUN_BYTES = 20;
    private static final int PART_BYTES = 40;

    /** Bytes of a record in one reply; a record of one extent has about 120. */
    private static final int PAGE_BYTES = ControlChannel.MESSAGE_BYTES_MAX - 8;

    /** Two of them fit into a message. */
    private static final int TEXT_BYTES_MAX = 512;

    /** How often a record may change while its pages are fetched. */
    private static final int TRIES = 16;

    /** What a node does for others. Runs on virtual threads; may block; throws {@link dev.lite.api.LiteException}s. */
    interface Service {
        /** See {@link ServedWork#memset}. */
        void memset(int caller, long lmrId, List<Run> runs, byte value);

        /** See {@link ServedWork#copy}. */
        void copy(int caller, Part source, Part target, long length, Deadline deadline);

        /** See {@link ServedWork#quiesce}. */
        void quiesce(int caller, Deadline deadline);

        /** See {@link LmrRecords#findFor}. */
        LmrRecords.Found record(int caller, long lmrId, String principal, int wanted);

        /** Makes every mapping of the LMR on this node follow its record, and returns when nobody uses it otherwise. */
        void refresh(long lmrId, Deadline deadline);

        /** Frees an LMR without a name that was made here. */
        void freeMine(long lmrId, String principal, Deadline deadline);

        /** Grants for an LMR without a name that was made here. */
        void grantMine(long lmrId, String principal, String grantee, int permissions, Deadline deadline);

        /** Moves an LMR without a name that was made here. */
        void moveMine(long lmrId, String principal, String node, Deadline deadline);

        /** Moves what an LMR without a name that was made here has on a node away from there. */
        void evacuateMine(long lmrId, int node, Deadline deadline);
    }

    private final ControlChannel channel;

    LmrCalls(ControlChannel channel) {
        this.channel = channel;
    }

    CompletableFuture<byte[]> memset(int node, long lmrId, List<Run> runs, byte value, Deadline deadline) {
        ByteBuffer request = ByteBuffer.allocate(14 + runs.size() * RUN_BYTES);
        request.put(MEMSET).putLong(lmrId).put(value).putInt(runs.size());
        for (Run run : runs) {
            request.putLong(run.offset()).putLong(run.length()).putInt(run.entry());
        }
        return channel.begin(node, Kind.WORK, request.array(), deadline);
    }

    CompletableFuture<byte[]> copy(Part source, Part target, long length, Deadline deadline) {
        ByteBuffer request = ByteBuffer.allocate(25 + 2 * PART_BYTES);
        request.put(COPY).putLong(source.lmrId());
        putPart(request, source);
        putPart(request, target);
        request.putLong(length).putLong(deadline.remainingNs());
        return channel.begin(source.node(), Kind.WORK, request.array(), deadline);
    }

    private static void putPart(ByteBuffer to, Part part) {
        to.putLong(part.lmrId())
                .putInt(part.node())
                .putLong(part.arena().getMostSignificantBits())
                .putLong(part.arena().getLeastSignificantBits())
                .putLong(part.offset())
                .putInt(part.entry());
    }

    private static Part getPart(ByteBuffer from) {
        long lmrId = from.getLong();
        int node = from.getInt();
        UUID arena = new UUID(from.getLong(), from.getLong());
        return new Part(node, arena, lmrId, from.getLong(), from.getInt());
    }

    /** Waits until a node has done all that {@code caller} has asked it to do. */
    void quiesce(int node, int caller, Deadline deadline) {
        ByteBuffer request = ByteBuffer.allocate(21);
        request.put(QUIESCE).putLong(0).putInt(caller).putLong(deadline.remainingNs());
        channel.call(node, Kind.TELL, request.array(), deadline);
    }

    /** The record of an LMR without a name, from the node that made it; {@code wanted} is checked there. */
    LmrRecord record(long lmrId, String principal, int wanted, Deadline deadline) {
        for (int tries = 0; tries < TRIES; tries++) {
            ByteBuffer first = page(lmrId, principal, wanted, 0, deadline);
            int version = first.getInt();
            byte[] bytes = new byte[first.getInt()];
            int at = take(first, bytes, 0);
            boolean same = true;
            while (same && at < bytes.length) {
                ByteBuffer next = page(lmrId, principal, wanted, at, deadline);
                same = next.getInt() == version && next.getInt() == bytes.length;
                at = take(next, bytes, at);
            }
            if (same) {
                return LmrRecord.decode(bytes);
            }
        }
        throw new LmrUnavailableException(
                "the record of LMR %d changed %d times while it was read".formatted(lmrId, TRIES));
    }

    private ByteBuffer page(long lmrId, String principal, int wanted, int from, Deadline deadline) {
        byte[] name = utf8(principal);
        ByteBuffer request = ByteBuffer.allocate(21 + name.length);
        request.put(RECORD)
                .putLong(lmrId)
                .putInt(wanted)
                .putInt(from)
                .putInt(name.length)
                .put(name);
        return channel.call(LmrRecords.creator(lmrId), Kind.WORK, request.array(), deadline);
    }

    private static int take(ByteBuffer page, byte[] bytes, int at) {
        int count = Math.min(page.remaining(), bytes.length - at);
        page.get(bytes, at, count);
        return at + count;
    }

    void refresh(int node, long lmrId, Deadline deadline) {
        ByteBuffer request = ByteBuffer.allocate(17);
        request.put(REFRESH).putLong(lmrId).putLong(deadline.remainingNs());
        channel.call(node, Kind.TELL, request.array(), deadline);
    }

    void freeAtCreator(long lmrId, String principal, Deadline deadline) {
        change(FREE, lmrId, principal, "", 0, deadline);
    }

    void grantAtCreator(long lmrId, String principal, String grantee, int permissions, Deadline deadline) {
        change(GRANT, lmrId, principal, grantee, permissions, deadline);
    }

    void moveAtCreator(long lmrId, String principal, String node, Deadline deadline) {
        change(MOVE, lmrId, principal, node, 0, deadline);
    }

    void evacuateAtCreator(long lmrId, int node, Deadline deadline) {
        ByteBuffer request = ByteBuffer.allocate(21);
        request.put(EVACUATE).putLong(lmrId).putInt(node).putLong(deadline.remainingNs());
        channel.call(LmrRecords.creator(lmrId), Kind.CHANGE, request.array(), deadline);
    }

    private void change(byte kind, long lmrId, String principal, String object, int permissions, Deadline deadline) {
        byte[] subjectBytes = utf8(principal);
        byte[] objectBytes = utf8(object);
        ByteBuffer request = ByteBuffer.allocate(29 + subjectBytes.length + objectBytes.length);
        request.put(kind)
                .putLong(lmrId)
                .putLong(deadline.remainingNs())
                .putInt(permissions)
                .putInt(subjectBytes.length)
                .put(subjectBytes)
                .putInt(objectBytes.length)
                .put(objectBytes);
        channel.call(LmrRecords.creator(lmrId), Kind.CHANGE, request.array(), deadline);
    }

    /** Decodes a request of one of these kinds for a service; the kind and the id are read already. */
    static byte[] handle(int caller, byte kind, long lmrId, ByteBuffer request, Service service) {
        switch (kind) {
            case MEMSET -> {
                byte value = request.get();
                service.memset(caller, lmrId, runs(request), value);
            }
            case COPY -> {
                Part source = getPart(request);
                Part target = getPart(request);
                service.copy(caller, source, target, request.getLong(), deadline(request));
            }
            case QUIESCE -> service.quiesce(request.getInt(), deadline(request));
            case RECORD -> {
                int wanted = request.getInt();
                int from = request.getInt();
                return page(service.record(caller, lmrId, text(request), wanted), from);
            }
            case REFRESH -> service.refresh(lmrId, deadline(request));
            case EVACUATE -> service.evacuateMine(lmrId, request.getInt(), deadline(request));
            case FREE, GRANT, MOVE -> {
                Deadline deadline = deadline(request);
                int permissions = request.getInt();
                String principal = text(request);
                String object = text(request);
                if (kind == FREE) {
                    service.freeMine(lmrId, principal, deadline);
                } else if (kind == GRANT) {
                    service.grantMine(lmrId, principal, object, permissions, deadline);
                } else {
                    service.moveMine(lmrId, principal, object, deadline);
                }
            }
            default -> throw new IllegalArgumentException("unknown request " + kind + " of node " + caller);
        }
        return new byte[0];
    }

    private static byte[] page(LmrRecords.Found found, int from) {
        byte[] bytes = found.lmr().encode();
        int begin = Math.clamp(from, 0, bytes.length);
        int count = Math.min(PAGE_BYTES, bytes.length - begin);
        ByteBuffer page = ByteBuffer.allocate(8 + count);
        page.putInt(found.version()).putInt(bytes.length).put(bytes, begin, count);
        return page.array();
    }

    private static List<Run> runs(ByteBuffer from) {
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

    private static Deadline deadline(ByteBuffer from) {
        return Deadline.in(Duration.ofNanos(Math.max(0, from.getLong())));
    }

    private static byte[] utf8(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > TEXT_BYTES_MAX) {
            throw new IllegalArgumentException("the name \"%s…\" has %d bytes of UTF-8; the limit is %d"
                    .formatted(text.substring(0, 32), bytes.length, TEXT_BYTES_MAX));
        }
        return bytes;
    }

    private static String text(ByteBuffer from) {
        int length = from.getInt();
        if (length < 0 || length > Math.min(from.remaining(), TEXT_BYTES_MAX)) {
            throw new IllegalArgumentException("a name of %d bytes in %d".formatted(length, from.remaining()));
        }
        byte[] bytes = new byte[length];
        from.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
