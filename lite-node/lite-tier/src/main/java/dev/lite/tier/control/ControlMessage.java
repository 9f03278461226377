package dev.lite.tier.control;

import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteWork.Part;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/**
 * The bytes of a control request or reply, and the one encoding of their content. A message is either written or read,
 * from its start. One thread at a time.
 *
 * <p>The reader checks every length before it uses it. It refuses a message that is too short, or has a length outside
 * its limit, with an {@link RpcFailedException} that names the value and the limit. Only {@link #putShortened} cuts
 * text.
 */
public final class ControlMessage {
    /** Upper limit of a message, in bytes; the channel adds one for its kind. */
    public static final int BYTES_MAX = 2048 - 16 - 1;

    /** Upper limit of a name in a message, in bytes of UTF-8. */
    public static final int NAME_BYTES_MAX = 512;

    /** Upper limit of a reason for people, in bytes of UTF-8; a longer reason is cut. */
    public static final int REASON_BYTES_MAX = 1024;

    /** How many runs fit into a message besides its other content. */
    public static final int RUNS_MAX = 80;

    private static final int RUN_BYTES = 20;
    private static final int SIZE_FIRST = 128;

    private ByteBuffer buffer;

    /** An empty message for writing. */
    public ControlMessage() {
        buffer = ByteBuffer.allocate(SIZE_FIRST);
    }

    /** A received message for reading; it uses the array without a copy. */
    ControlMessage(byte[] bytes) {
        buffer = ByteBuffer.wrap(bytes);
    }

    /** The bytes written so far, as a message for reading. */
    public ControlMessage written() {
        return new ControlMessage(toBytes());
    }

    byte[] toBytes() {
        return Arrays.copyOf(buffer.array(), buffer.position());
    }

    /** The number of bytes not read yet. */
    public int remaining() {
        return buffer.remaining();
    }

    private ByteBuffer room(int bytes) {
        int needed = buffer.position() + bytes;
        if (needed > BYTES_MAX) {
            throw new IllegalArgumentException(
                    "a control message has %d bytes; the limit is %d".formatted(needed, BYTES_MAX));
        }
        if (needed > buffer.capacity()) {
            byte[] larger = Arrays.copyOf(buffer.array(), Math.min(BYTES_MAX, Math.max(needed, 2 * buffer.capacity())));
            buffer = ByteBuffer.wrap(larger).position(buffer.position());
        }
        return buffer;
    }

    private ByteBuffer next(int bytes) {
        if (buffer.remaining() < bytes) {
            throw malformed("a control message is too short: it has %d bytes; the reader needs %d more at byte %d"
                    .formatted(buffer.limit(), bytes, buffer.position()));
        }
        return buffer;
    }

    private static RpcFailedException malformed(String message) {
        return new RpcFailedException(RpcStatus.REFUSED, message);
    }

    /** Writes 1 byte. */
    public ControlMessage putByte(int value) {
        room(1).put((byte) value);
        return this;
    }

    /** Reads 1 byte. */
    public byte getByte() {
        return next(1).get();
    }

    /** Writes 4 bytes. */
    public ControlMessage putInt(int value) {
        room(Integer.BYTES).putInt(value);
        return this;
    }

    /** Reads 4 bytes. */
    public int getInt() {
        return next(Integer.BYTES).getInt();
    }

    /** Writes 8 bytes. */
    public ControlMessage putLong(long value) {
        room(Long.BYTES).putLong(value);
        return this;
    }

    /** Reads 8 bytes. */
    public long getLong() {
        return next(Long.BYTES).getLong();
    }

    /** Writes bytes without their length. */
    public ControlMessage putBytes(byte[] bytes, int from, int count) {
        room(count).put(bytes, from, count);
        return this;
    }

    /** Reads bytes; the reader knows their length. */
    public void getBytes(byte[] bytes, int to, int count) {
        next(count).get(bytes, to, count);
    }

    /**
     * Writes a count.
     *
     * @throws IllegalArgumentException if the count exceeds the limit
     */
    public ControlMessage putCount(String what, int count, int max) {
        if (count > max) {
            throw new IllegalArgumentException(
                    "a control message has %d %s; the limit is %d".formatted(count, what, max));
        }
        return putInt(count);
    }

    /** Reads a count: 0 to the limit. */
    public int getCount(String what, int max) {
        int count = getInt();
        if (count < 0 || count > max) {
            throw malformed("a control message has a count of %d %s; the limit is %d".formatted(count, what, max));
        }
        return count;
    }

    /**
     * Writes a name.
     *
     * @param what the meaning of the name, for messages
     * @throws IllegalArgumentException if it has more than {@link #NAME_BYTES_MAX} bytes
     */
    public ControlMessage putName(String what, String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > NAME_BYTES_MAX) {
            throw new IllegalArgumentException("%s \"%s…\" has %d bytes of UTF-8; the limit is %d"
                    .formatted(what, name.substring(0, 32), bytes.length, NAME_BYTES_MAX));
        }
        return putInt(bytes.length).putBytes(bytes, 0, bytes.length);
    }

    /** Reads a name. */
    public String getName(String what) {
        return getString(what, NAME_BYTES_MAX);
    }

    /** Writes a reason for people; cuts it at {@link #REASON_BYTES_MAX}. */
    public ControlMessage putShortened(String reason) {
        byte[] bytes = reason.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, REASON_BYTES_MAX);
        return putInt(length).putBytes(bytes, 0, length);
    }

    /** Reads a reason. */
    public String getReason() {
        return getString("a reason", REASON_BYTES_MAX);
    }

    private String getString(String what, int max) {
        int length = getInt();
        if (length < 0 || length > max) {
            throw malformed("%s in a control message has %d bytes; the limit is %d".formatted(what, length, max));
        }
        byte[] bytes = new byte[length];
        getBytes(bytes, 0, length);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * Writes runs.
     *
     * @throws IllegalArgumentException if there are more than {@link #RUNS_MAX}
     */
    public ControlMessage putRuns(List<Run> runs) {
        putCount("runs", runs.size(), RUNS_MAX);
        for (Run run : runs) {
            room(RUN_BYTES).putLong(run.offset()).putLong(run.length()).putInt(run.entry());
        }
        return this;
    }

    /** Reads runs. */
    public List<Run> getRuns() {
        int count = getCount("runs", RUNS_MAX);
        List<Run> runs = new ArrayList<>(count);
        for (int left = count; left > 0; left--) {
            runs.add(new Run(getLong(), getLong(), getInt()));
        }
        return runs;
    }

    /** Writes the id of an arena. */
    public ControlMessage putUuid(UUID id) {
        return putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
    }

    /** Reads the id of an arena. */
    public UUID getUuid() {
        return new UUID(getLong(), getLong());
    }

    /** Writes the start of a range of an LMR. */
    public ControlMessage putPart(Part part) {
        return putLong(part.lmrId())
                .putInt(part.node())
                .putUuid(part.arena())
                .putLong(part.offset())
                .putInt(part.entry());
    }

    /** Reads the start of a range of an LMR. */
    public Part getPart() {
        long lmrId = getLong();
        int node = getInt();
        UUID arena = getUuid();
        return new Part(node, arena, lmrId, getLong(), getInt());
    }

    /** Writes the remaining time of a deadline, so that a handler stops when its caller has given up. */
    public ControlMessage putDeadline(Deadline deadline) {
        return putLong(deadline.remainingNs());
    }

    /** Reads a deadline. */
    public Deadline getDeadline() {
        long leftNs = getLong();
        if (leftNs < 0) {
            throw malformed("a control message has a remaining deadline of %d ns; the minimum is 0".formatted(leftNs));
        }
        return Deadline.in(Duration.ofNanos(leftNs));
    }
}
