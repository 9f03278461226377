package dev.lite.fabric.conformance;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.fabric.conformance.TestFabrics.Pair;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Reads and writes. */
interface TransferCases extends ConformanceCases {
    /** Bytes before and after a range that must not change. */
    int GUARD = 16;

    /** The longest operation that is tested, for drivers that allow longer ones. */
    long WHOLE_MAX = TestFabrics.MEMORY_BYTES / 2 - 2 * GUARD - 8;

    /** Uses one connection for all lengths, because on slow machines connecting takes longest. */
    List<Long> LENGTHS =
            List.of(0L, 1L, 2L, 3L, 7L, 8L, 9L, 63L, 64L, 65L, 4095L, 4096L, 4097L, 65_536L, (1L << 20) + 3);

    @Test
    default void writesChangeExactlyTheirBytes() {
        Pair pair = fabrics().pair();
        for (long bytes : LENGTHS) {
            checkWrites(pair, bytes);
        }
    }

    @Test
    default void readsCopyExactlyTheirBytes() {
        Pair pair = fabrics().pair();
        for (long bytes : LENGTHS) {
            checkReads(pair, bytes);
        }
    }

    @Test
    default void anOperationOfTheLongestLengthMovesEveryByte() {
        long longest = fabrics().open("probe").fabric.capabilities().operationBytesMax();
        checkWrites(fabrics().pair(), Math.min(longest, WHOLE_MAX));
    }

    @Test
    default void aReadOfTheLongestLengthCopiesEveryByte() {
        long longest = fabrics().open("probe").fabric.capabilities().operationBytesMax();
        checkReads(fabrics().pair(), Math.min(longest, WHOLE_MAX));
    }

    private void checkWrites(Pair pair, long bytes) {
        int length = withinLimit(pair, bytes);
        for (int shift : new int[] {0, 1, 5}) {
            byte[] before = Posts.randomBytes(fabrics(), length + 2 * GUARD + 8);
            byte[] data = Posts.randomBytes(fabrics(), length);
            Posts.fill(pair.to().target(), before);
            pair.from().freeLocals();
            MemorySegment local = pair.from().local(length + 8).asSlice(8 - shift, length);
            Posts.fill(local, data);
            int offset = GUARD + shift;

            fabrics().run(pair.from(), pair.out(), (to, context) -> to.write(offset, local.address(), length, context));

            byte[] expected = before.clone();
            System.arraycopy(data, 0, expected, offset, length);
            assertSame(pair.to().bytes(0, expected.length), expected, "remote memory, shift " + shift);
            assertSame(local.toArray(JAVA_BYTE), data, "local memory, shift " + shift);
        }
    }

    private void checkReads(Pair pair, long bytes) {
        int length = withinLimit(pair, bytes);
        for (int shift : new int[] {0, 1, 5}) {
            byte[] remote = Posts.randomBytes(fabrics(), length + 2 * GUARD + 8);
            byte[] before = Posts.randomBytes(fabrics(), length + 2 * GUARD);
            Posts.fill(pair.to().target(), remote);
            pair.from().freeLocals();
            MemorySegment around = pair.from().local(before.length);
            Posts.fill(around, before);
            int offset = GUARD + shift;
            int place = GUARD - shift;

            fabrics()
                    .run(
                            pair.from(),
                            pair.out(),
                            (to, context) -> to.read(offset, around.address() + place, length, context));

            byte[] expected = before.clone();
            System.arraycopy(remote, offset, expected, place, length);
            assertSame(around.toArray(JAVA_BYTE), expected, "local memory, shift " + shift);
            assertSame(pair.to().bytes(0, remote.length), remote, "remote memory, shift " + shift);
        }
    }

    private static int withinLimit(Pair pair, long bytes) {
        return Math.toIntExact(Math.min(bytes, pair.from().fabric.capabilities().operationBytesMax()));
    }

    /** Asserts equality; a failure reports where the arrays differ instead of printing both. */
    private static void assertSame(byte[] actual, byte[] expected, String what) {
        assertThat(Arrays.mismatch(actual, expected))
                .as("first differing byte of %s, of %d bytes", what, expected.length)
                .isEqualTo(-1);
    }

    @Test
    default void theFirstAndTheLastByteAreAccessible() {
        Pair pair = fabrics().pair();
        long last = pair.out().remoteSize() - 1;
        MemorySegment local = pair.from().local(2);
        Posts.fill(local, new byte[] {11, 12});

        fabrics().run(pair.from(), pair.out(), (to, context) -> to.write(0, local.address(), 1, context));
        fabrics().run(pair.from(), pair.out(), (to, context) -> to.write(last, local.address() + 1, 1, context));
        assertThat(pair.to().bytes(0, 1)).containsExactly(11);
        assertThat(pair.to().bytes(last, 1)).containsExactly(12);

        fabrics().run(pair.from(), pair.out(), (to, context) -> to.read(last, local.address(), 1, context));
        fabrics().run(pair.from(), pair.out(), (to, context) -> to.read(0, local.address() + 1, 1, context));
        assertThat(local.toArray(JAVA_BYTE)).containsExactly(12, 11);
    }

    @Test
    default void anEmptyRangeMayBeginAtTheEndOfTheMemory() {
        Pair pair = fabrics().pair();
        long end = pair.out().remoteSize();

        fabrics().run(pair.from(), pair.out(), (to, context) -> to.write(end, 0, 0, context));
        fabrics().run(pair.from(), pair.out(), (to, context) -> to.read(end, 0, 0, context));
        fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(end, 0, 0, 5, context));
    }

    @Test
    default void randomTransfersAgreeWithAModel() {
        Pair pair = fabrics().pair();
        byte[] model = new byte[64 << 10];
        MemorySegment local = pair.from().local(model.length);
        for (int i = 0; i < 400; i++) {
            int length = fabrics().random().nextInt(fabrics().random().nextBoolean() ? 100 : 20_000);
            int offset = fabrics().random().nextInt(model.length - length);
            if (fabrics().random().nextBoolean()) {
                byte[] data = Posts.randomBytes(fabrics(), length);
                Posts.fill(local, data);
                System.arraycopy(data, 0, model, offset, length);
                fabrics()
                        .run(
                                pair.from(),
                                pair.out(),
                                (to, context) -> to.write(offset, local.address(), length, context));
            } else {
                fabrics()
                        .run(
                                pair.from(),
                                pair.out(),
                                (to, context) -> to.read(offset, local.address(), length, context));
                assertSame(
                        local.asSlice(0, length).toArray(JAVA_BYTE),
                        Arrays.copyOfRange(model, offset, offset + length),
                        "read " + i + " at " + offset);
            }
        }
        assertSame(pair.to().bytes(0, model.length), model, "remote memory");
    }

    @Test
    default void manyOperationsAtOnceInBothDirectionsAllArrive() {
        Pair pair = fabrics().pair();
        int count = 2_000;
        int piece = 96;
        byte[] there = Posts.randomBytes(fabrics(), count * piece);
        byte[] back = Posts.randomBytes(fabrics(), count * piece);
        MemorySegment ofAlpha = pair.from().local(there.length);
        MemorySegment ofBeta = pair.to().local(back.length);
        Posts.fill(ofAlpha, there);
        Posts.fill(ofBeta, back);
        List<Posted> posts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long at = (long) i * piece;
            posts.add(fabrics()
                    .post(
                            pair.from(),
                            pair.out(),
                            (to, context) -> to.write(at, ofAlpha.address() + at, piece, context)));
            posts.add(fabrics()
                    .post(pair.to(), pair.in(), (to, context) -> to.write(at, ofBeta.address() + at, piece, context)));
        }
        fabrics().until(() -> posts.stream().allMatch(Posted::isOver), "the end of every write");

        assertThat(posts).allMatch(Posted::succeeded);
        assertSame(pair.to().bytes(0, there.length), there, "memory of beta");
        assertSame(pair.from().bytes(0, back.length), back, "memory of alpha");
    }

    @Test
    default void aFullQueueAnswersBusyAndAcceptsPostsAgainAfterAPoll() {
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(16);
        List<Posted> taken = new ArrayList<>();
        Posted posted = write(pair, local);
        while (posted.wasTaken() && taken.size() < 20_000) {
            taken.add(posted);
            posted = write(pair, local);
        }
        assertThat(posted.answer()).isIn(Post.BUSY, Post.DONE, Post.ACCEPTED);
        taken.add(fabrics().post(pair.from(), pair.out(), (to, context) -> to.write(0, local.address(), 16, context)));
        fabrics().until(() -> taken.stream().allMatch(Posted::isOver), "the end of every write");

        assertThat(taken).allMatch(Posted::succeeded);
    }

    private static Posted write(Pair pair, MemorySegment local) {
        return pair.from().recorder.post(pair.out(), (to, context) -> to.write(0, local.address(), 16, context));
    }

    @Test
    default void dataWrittenByOnePeerIsReadByAnother() {
        TestNode beta = fabrics().open("beta");
        Pair writer = fabrics().connect(fabrics().open("alpha"), beta);
        Pair reader = fabrics().connect(fabrics().open("gamma"), beta);
        MemorySegment source = writer.from().local(5_000);
        MemorySegment sink = reader.from().local(5_000);
        for (int round = 0; round < 20; round++) {
            byte[] data = Posts.randomBytes(fabrics(), 5_000);
            Posts.fill(source, data);
            fabrics().run(writer.from(), writer.out(), (to, context) -> to.write(3, source.address(), 5_000, context));
            fabrics().run(reader.from(), reader.out(), (to, context) -> to.read(3, sink.address(), 5_000, context));
            assertSame(sink.toArray(JAVA_BYTE), data, "round " + round);
        }
    }

    @Test
    default void aReadSeesTheOwnersOwnStores() {
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(8);
        for (long value = 1; value <= 50; value++) {
            pair.to().word(256, value);
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.read(256, local.address(), 8, context));
            assertThat(local.get(JAVA_LONG, 0)).isEqualTo(value);
        }
    }

    @Test
    default void bothEndsOfAConnectionHaveTheSameNumberOfLanes() {
        Pair pair = fabrics().pair();
        assertThat(pair.out().laneCount()).isPositive().isEqualTo(pair.in().laneCount());
    }

    @Test
    default void aDriverTellsAsManyLanesApartAsItSays() {
        Pair pair = fabrics().pair();
        int most = pair.from().fabric.capabilities().lanesMax();
        int lanes = pair.out().laneCount();
        if (most == 1) {
            assertThat(pair.out().onLanes(0, lanes))
                    .as("it has no lanes to choose")
                    .isSameAs(pair.out());
            return;
        }
        assertThat(lanes).isBetween(1, most);
        assertThatThrownBy(() -> pair.out().onLanes(0, lanes + 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> pair.out().onLanes(lanes, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> pair.out().onLanes(0, 0)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    default void everyLaneCarriesReadsAndWrites() {
        Pair pair = fabrics().pair();
        int lanes = pair.out().laneCount();
        for (int lane = 0; lane < lanes; lane++) {
            FabricEndpoint one = lanes == 1 ? pair.out() : pair.out().onLanes(lane, 1);
            for (int length : new int[] {8, 64 << 10}) { // short and long ones may take different lanes
                byte[] data = Posts.randomBytes(fabrics(), length);
                pair.from().freeLocals();
                MemorySegment local = pair.from().local(length);
                Posts.fill(local, data);
                fabrics().run(pair.from(), pair.out(), (to, context) -> one.write(0, local.address(), length, context));
                assertSame(pair.to().bytes(0, length), data, "remote memory, lane " + lane);
                local.fill((byte) 0);
                fabrics().run(pair.from(), pair.out(), (to, context) -> one.read(0, local.address(), length, context));
                assertSame(local.toArray(JAVA_BYTE), data, "local memory, lane " + lane);
            }
        }
    }

    @Test
    default void transfersOfAThreadThatPollsSoonCompleteLikeAllOthers() {
        Pair pair = fabrics().pair();
        FabricEndpoint out = pair.out();
        for (int length : new int[] {8, 64 << 10}) {
            byte[] data = Posts.randomBytes(fabrics(), length);
            pair.from().freeLocals();
            MemorySegment local = pair.from().local(length);
            Posts.fill(local, data);
            fabrics().run(pair.from(), out, (to, context) -> to.writeSoon(0, local.address(), length, context));
            assertSame(pair.to().bytes(0, length), data, "remote memory");
            local.fill((byte) 0);
            fabrics().run(pair.from(), out, (to, context) -> to.readSoon(0, local.address(), length, context));
            assertSame(local.toArray(JAVA_BYTE), data, "local memory");
        }
        MemorySegment before = pair.from().local(Long.BYTES);
        pair.to().word(8, 5);
        fabrics().run(pair.from(), out, (to, context) -> to.fetchAddSoon(8, 2, before.address(), context));
        assertThat(before.get(JAVA_LONG, 0)).isEqualTo(5);
        fabrics().run(pair.from(), out, (to, context) -> to.compareAndSwapSoon(8, 7, 9, before.address(), context));
        assertThat(before.get(JAVA_LONG, 0)).isEqualTo(7);
        assertThat(pair.to().word(8)).isEqualTo(9);
    }

    @Test
    default void aMappedAddressShowsThePeersMemoryUntilTheFabricIsClosed() {
        Pair pair = fabrics().pair();
        FabricEndpoint out = pair.out();
        long mapped = out.mappedAddress();
        assumeThat(mapped).as("mapped address; this driver maps nothing").isNotZero();
        assertThat(pair.from().fabric.capabilities().sameHostOnly())
                .as("only a peer on the same host can be mapped")
                .isTrue();
        MemorySegment memory = MemorySegment.ofAddress(mapped).reinterpret(out.remoteSize());
        pair.to().word(8, 42);
        assertThat(memory.get(JAVA_LONG, 8)).isEqualTo(42);
        memory.set(JAVA_LONG, out.remoteSize() - 8, 43);
        assertThat(pair.to().word(out.remoteSize() - 8)).isEqualTo(43);

        out.close();
        fabrics().until(() -> pair.from().isDisconnected(out), "disconnected");
        pair.to().word(8, 44);

        assertThat(memory.get(JAVA_LONG, 8)).isEqualTo(44);
    }
}
