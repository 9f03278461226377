package dev.lite.cluster;

import dev.lite.api.LimitExceededException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The directory's record of a named LMR: where its memory is, and its permissions (paper §4.1).
 *
 * <p>An LMR is cut into chunks of {@code 1 << chunkShift} bytes, the last one shorter. They are distributed to the shares
 * round robin: chunk {@code i} is number {@code i / shares} of share {@code i % shares}. So the record stays small for any
 * LMR size, unless the memory is fragmented.
 *
 * @param id the cluster-wide id, never reused
 * @param state whether it may be mapped
 * @param size bytes
 * @param chunkShift binary logarithm of the chunk size in bytes
 * @param owner the principal that created it and whose quota it counts against; empty for the tier's internal LMRs
 * @param defaultPermissions bits of {@link dev.lite.api.Permission} for every principal without a grant
 * @param grants principal → bits
 * @param shares one for every node that holds chunks, in round-robin order
 * @param move the move in progress, when the state is MOVING
 */
public record LmrRecord(
        long id,
        State state,
        long size,
        int chunkShift,
        String owner,
        int defaultPermissions,
        Map<String, Integer> grants,
        List<Share> shares,
        @Nullable Move move) {

    private static final int FORMAT_VERSION = 2;

    /** The format without an owner: read, but no longer written. */
    private static final int FORMAT_VERSION_WITHOUT_OWNER = 1;

    /** The life of an LMR. */
    public enum State {
        /** It may be mapped. */
        LIVE(1),
        /** A master is freeing it: it cannot be mapped any more, and its memory is kept until the last mapper has released it. */
        FREEING(2),
        /** A master is moving it: no access until it is LIVE again, at the old or the new place. */
        MOVING(3);

        private final int number;

        State(int number) {
            this.number = number;
        }

        static State of(int number) throws IOException {
            for (State state : values()) {
                if (state.number == number) {
                    return state;
                }
            }
            throw new IOException("state " + number);
        }
    }

    /**
     * The chunks on one node, in order.
     *
     * @param node the node's id
     * @param arena the arena's id: a node that restarts without its old memory has a new one
     * @param runs their places in the arena
     */
    public record Share(int node, UUID arena, List<Run> runs) {
        /** Copies. */
        public Share {
            runs = List.copyOf(runs);
        }
    }

    /**
     * A range of adjacent chunks.
     *
     * @param offset bytes from the start of the arena
     * @param length bytes
     * @param entry the name of its extent in the arena's extent table
     */
    public record Run(long offset, long length, int entry) {}

    /**
     * A move in progress. Until it is done, the data is at the old place.
     *
     * @param node the id of the node that carries it out
     * @param incarnation the incarnation of that node; when it has ended, the move is abandoned
     * @param chunkShift of the LMR at the new place
     * @param shares the memory at the new place
     */
    public record Move(int node, long incarnation, int chunkShift, List<Share> shares) {
        /** Copies. */
        public Move {
            shares = List.copyOf(shares);
        }
    }

    /** Copies. */
    public LmrRecord {
        grants = Map.copyOf(grants);
        shares = List.copyOf(shares);
        if ((move != null) != (state == State.MOVING)) {
            throw new IllegalArgumentException(
                    "LMR %d is %s and has %s move".formatted(id, state, move == null ? "no" : "a"));
        }
    }

    /** Creates the record of an LMR without an owner and without a move. */
    public LmrRecord(
            long id,
            State state,
            long size,
            int chunkShift,
            int defaultPermissions,
            Map<String, Integer> grants,
            List<Share> shares) {
        this(id, state, size, chunkShift, "", defaultPermissions, grants, shares, null);
    }

    /** How many chunks the LMR has. */
    public int chunks() {
        return Math.toIntExact(((size - 1) >>> chunkShift) + 1);
    }

    /** The permissions of a principal, as bits of {@link dev.lite.api.Permission}. */
    public int permissionsOf(String principal) {
        return grants.getOrDefault(principal, defaultPermissions);
    }

    /** The same record in another state, without a move. */
    public LmrRecord withState(State newState) {
        return new LmrRecord(id, newState, size, chunkShift, owner, defaultPermissions, grants, shares, null);
    }

    /** The same record with other grants. */
    public LmrRecord withGrants(Map<String, Integer> newGrants) {
        return new LmrRecord(id, state, size, chunkShift, owner, defaultPermissions, newGrants, shares, move);
    }

    /** The same record at the beginning of a move. */
    public LmrRecord withMove(Move newMove) {
        return new LmrRecord(id, State.MOVING, size, chunkShift, owner, defaultPermissions, grants, shares, newMove);
    }

    /** The same record after its move. */
    public LmrRecord moved() {
        if (move == null) {
            throw new IllegalStateException("LMR %d is not moving".formatted(id));
        }
        return new LmrRecord(
                id, State.LIVE, size, move.chunkShift(), owner, defaultPermissions, grants, move.shares(), null);
    }

    /**
     * The record's bytes: a format version, the fields, a CRC-32C.
     *
     * @throws LimitExceededException when they are more than {@link ClusterDirectory#RECORD_BYTES_MAX}
     */
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(FORMAT_VERSION);
            out.writeLong(id);
            out.writeByte(state.number);
            out.writeLong(size);
            out.writeByte(chunkShift);
            out.writeUTF(owner);
            out.writeInt(defaultPermissions);
            out.writeInt(grants.size());
            for (String principal : grants.keySet().stream().sorted().toList()) {
                out.writeUTF(principal);
                out.writeInt(permissionsOf(principal));
            }
            writeShares(out, shares);
            if (move != null) {
                out.writeInt(move.node());
                out.writeLong(move.incarnation());
                out.writeByte(move.chunkShift());
                writeShares(out, move.shares());
            }
            out.writeInt((int) crc(bytes.toByteArray(), bytes.size()));
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory cannot fail", e);
        }
        if (bytes.size() > ClusterDirectory.RECORD_BYTES_MAX) {
            throw new LimitExceededException(
                    "the record of an LMR of %d bytes has %d bytes, because its memory is fragmented into %d runs and %d principals have grants; the limit is %d"
                            .formatted(
                                    size,
                                    bytes.size(),
                                    shares.stream()
                                            .mapToInt(share -> share.runs().size())
                                            .sum(),
                                    grants.size(),
                                    ClusterDirectory.RECORD_BYTES_MAX));
        }
        return bytes.toByteArray();
    }

    private static void writeShares(DataOutputStream out, List<Share> shares) throws IOException {
        out.writeInt(shares.size());
        for (Share share : shares) {
            out.writeInt(share.node());
            out.writeLong(share.arena().getMostSignificantBits());
            out.writeLong(share.arena().getLeastSignificantBits());
            out.writeInt(share.runs().size());
            for (Run run : share.runs()) {
                out.writeLong(run.offset());
                out.writeLong(run.length());
                out.writeInt(run.entry());
            }
        }
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @throws IllegalArgumentException when the bytes are no record of this format
     */
    public static LmrRecord decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            int version = in.readUnsignedByte();
            if (version != FORMAT_VERSION && version != FORMAT_VERSION_WITHOUT_OWNER) {
                throw new IOException("format version %d, this program reads %d and %d"
                        .formatted(version, FORMAT_VERSION_WITHOUT_OWNER, FORMAT_VERSION));
            }
            if (bytes.length < Integer.BYTES
                    || new DataInputStream(new ByteArrayInputStream(bytes, bytes.length - Integer.BYTES, Integer.BYTES))
                                    .readInt()
                            != (int) crc(bytes, bytes.length - Integer.BYTES)) {
                throw new IOException("checksum");
            }
            return readFields(in, bytes.length, version != FORMAT_VERSION_WITHOUT_OWNER);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "%d bytes are no LMR record: %s".formatted(bytes.length, e.getMessage()), e);
        }
    }

    private static LmrRecord readFields(DataInputStream in, int length, boolean withOwner) throws IOException {
        long id = in.readLong();
        State state = State.of(in.readUnsignedByte());
        long size = in.readLong();
        int chunkShift = in.readUnsignedByte();
        String owner = withOwner ? in.readUTF() : "";
        int defaults = in.readInt();
        Map<String, Integer> grants = new LinkedHashMap<>();
        for (int left = count(in, length); left > 0; left--) {
            grants.put(in.readUTF(), in.readInt());
        }
        List<Share> shares = readShares(in, length);
        Move move = state == State.MOVING
                ? new Move(in.readInt(), in.readLong(), in.readUnsignedByte(), readShares(in, length))
                : null;
        return new LmrRecord(id, state, size, chunkShift, owner, defaults, grants, shares, move);
    }

    private static List<Share> readShares(DataInputStream in, int length) throws IOException {
        List<Share> shares = new ArrayList<>();
        for (int left = count(in, length); left > 0; left--) {
            int node = in.readInt();
            UUID arena = new UUID(in.readLong(), in.readLong());
            List<Run> runs = new ArrayList<>();
            for (int runsLeft = count(in, length); runsLeft > 0; runsLeft--) {
                runs.add(new Run(in.readLong(), in.readLong(), in.readInt()));
            }
            shares.add(new Share(node, arena, runs));
        }
        return shares;
    }

    private static int count(DataInputStream in, int length) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > length) {
            throw new IOException("a count of " + count);
        }
        return count;
    }

    private static long crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return crc.getValue();
    }
}
