package dev.lite.tier.node;

import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.sync.SyncCalls;
import dev.lite.tier.sync.WordRef;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;

/**
 * {@link SyncCalls} as control requests. Each begins with its kind and the word: LMR id, arena offset, extent table entry. The
 * called node knows its own arena and checks that the word is there.
 */
final class SyncNodeCalls implements SyncCalls {
    /** The kinds from here on, up to {@link #KIND_LAST}, are these calls'. */
    static final byte KIND_FIRST = 16;

    static final byte KIND_LAST = 31;

    private static final byte QUEUE = 16;
    private static final byte RELEASE = 17;
    private static final byte TURN = 18;
    private static final byte ARRIVE = 19;
    private static final byte LEAVE = 20;
    private static final byte OVER = 21;
    private static final byte PARTIES = 22;

    private static final int WORD_BYTES = 21;
    private static final int REASON_BYTES_MAX = 1024;

    private final ControlChannel channel;

    SyncNodeCalls(ControlChannel channel) {
        this.channel = channel;
    }

    private static ByteBuffer request(byte kind, WordRef word, int bytes) {
        return ByteBuffer.allocate(WORD_BYTES + bytes)
                .put(kind)
                .putLong(word.lmrId())
                .putLong(word.offset())
                .putInt(word.entry());
    }

    @Override
    public Place queue(WordRef lock, long ticket, Deadline deadline) {
        ByteBuffer request = request(QUEUE, lock, 8).putLong(ticket);
        return of(Place.values(), channel.call(lock.home(), bytes(request), deadline));
    }

    @Override
    public void release(WordRef lock, long ticket, Deadline deadline) {
        channel.call(lock.home(), bytes(request(RELEASE, lock, 8).putLong(ticket)), deadline);
    }

    @Override
    public Claim turn(int node, WordRef lock, long ticket, Deadline deadline) {
        ByteBuffer request = request(TURN, lock, 8).putLong(ticket);
        return of(Claim.values(), channel.call(node, bytes(request), deadline));
    }

    @Override
    public Standing arrive(WordRef barrier, long round, int parties, long party, Deadline deadline) {
        ByteBuffer request =
                request(ARRIVE, barrier, 20).putLong(round).putLong(party).putInt(parties);
        return readStanding(channel.call(barrier.home(), bytes(request), deadline));
    }

    @Override
    public Standing leave(WordRef barrier, long round, long party, String reason, Deadline deadline) {
        byte[] text = text(reason);
        ByteBuffer request = request(LEAVE, barrier, 16 + text.length)
                .putLong(round)
                .putLong(party)
                .put(text);
        return readStanding(channel.call(barrier.home(), bytes(request), deadline));
    }

    @Override
    public void over(int node, WordRef barrier, Standing outcome, Deadline deadline) {
        byte[] standing = bytes(outcome);
        channel.call(node, bytes(request(OVER, barrier, standing.length).put(standing)), deadline);
    }

    @Override
    public int parties(int node, WordRef barrier, long round, Deadline deadline) {
        return channel.call(node, bytes(request(PARTIES, barrier, 8).putLong(round)), deadline)
                .getInt();
    }

    /**
     * Carries out a request of another node.
     *
     * @param self this node's id
     * @param arena this node's arena
     */
    static byte[] answer(int self, UUID arena, Service service, int node, ByteBuffer request) {
        try {
            byte kind = request.get();
            long lmrId = request.getLong();
            WordRef word = new WordRef(self, arena, lmrId, request.getLong(), request.getInt());
            return switch (kind) {
                case QUEUE -> number(service.queue(node, word, request.getLong()));
                case RELEASE -> {
                    service.release(word, request.getLong());
                    yield new byte[0];
                }
                case TURN -> number(service.turn(word, request.getLong()));
                case ARRIVE -> {
                    long round = request.getLong();
                    long party = request.getLong();
                    yield bytes(service.arrive(node, word, round, request.getInt(), party));
                }
                case LEAVE -> {
                    long round = request.getLong();
                    long party = request.getLong();
                    yield bytes(service.leave(word, round, party, readText(request)));
                }
                case OVER -> {
                    service.over(word, readStanding(request));
                    yield new byte[0];
                }
                case PARTIES ->
                    ByteBuffer.allocate(Integer.BYTES)
                            .putInt(service.parties(word, request.getLong()))
                            .array();
                default -> throw new IllegalArgumentException("unknown request " + kind + " of node " + node);
            };
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("a request of node " + node + " is too short", e);
        }
    }

    /** What was put into a buffer. */
    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.flip().remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static byte[] number(Numbered value) {
        return new byte[] {(byte) value.number()};
    }

    private static <E extends Numbered> E of(E[] values, ByteBuffer from) {
        int number = from.get();
        for (E value : values) {
            if (value.number() == number) {
                return value;
            }
        }
        throw new IllegalArgumentException("the answer %d is none of %s".formatted(number, List.of(values)));
    }

    private static byte[] bytes(Standing standing) {
        byte[] text = text(standing.reason());
        return ByteBuffer.allocate(9 + text.length)
                .put((byte) standing.stage().number())
                .putLong(standing.round())
                .put(text)
                .array();
    }

    private static Standing readStanding(ByteBuffer from) {
        Stage stage = of(Stage.values(), from);
        return new Standing(stage, from.getLong(), readText(from));
    }

    private static byte[] text(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        return utf8.length <= REASON_BYTES_MAX ? utf8 : java.util.Arrays.copyOf(utf8, REASON_BYTES_MAX);
    }

    private static String readText(ByteBuffer from) {
        return StandardCharsets.UTF_8.decode(from).toString();
    }
}
