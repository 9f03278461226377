package dev.lite.fabric.conformance;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.fabric.conformance.TestFabrics.Pair;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Writes with an immediate. */
interface ImmediateCases extends ConformanceCases {

    @Test
    default void everyImmediateArrivesUnchanged() {
        Pair pair = fabrics().pair();
        List<Integer> values = new ArrayList<>(List.of(0, 1, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, 0x8000, 0xFFFF));
        IntStream.range(0, 100).forEach(i -> values.add(fabrics().random().nextInt()));

        for (int value : values) {
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, value, context));
        }
        awaitImmediates(pair, values.size());

        assertThat(pair.to().log(pair.in()).immediates).containsExactlyElementsOf(values);
        assertThat(pair.from().log(pair.out()).immediates).isEmpty();
    }

    @Test
    default void anEmptyWriteImmWritesNothing() {
        Pair pair = fabrics().pair();
        byte[] before = Posts.randomBytes(fabrics(), 64);
        Posts.fill(pair.to().target(), before);

        fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(8, 0, 0, 1, context));
        awaitImmediates(pair, 1);

        assertThat(pair.to().bytes(0, 64)).isEqualTo(before);
    }

    @Test
    default void theDataOfAWriteImmIsVisibleBeforeItsImmediate() {
        int rounds = 800;
        int slotBytes = 4096;
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(slotBytes * 16L);
        pair.to()
                .recorder
                .hooks(Recorder.Hooks.onImmediate(
                        (endpoint, round) -> checkSlot(pair.to(), (long) round * slotBytes, stamp(round), slotBytes)));
        pair.to().startPolling();

        Posted[] inSlot = new Posted[16];
        for (int i = 0; i < rounds; i++) {
            int round = i;
            Posted last = inSlot[i % 16];
            if (last != null) {
                fabrics().until(last::isOver, "the end of " + last);
            }
            MemorySegment source = local.asSlice((i % 16) * (long) slotBytes, slotBytes);
            fillLongs(source, stamp(round));
            inSlot[i % 16] = fabrics()
                    .post(
                            pair.from(),
                            pair.out(),
                            (to, context) ->
                                    to.writeImm((long) round * slotBytes, source.address(), slotBytes, round, context));
        }
        awaitImmediates(pair, rounds);
        pair.to().stopPolling();

        assertThat(pair.to().log(pair.in()).immediates)
                .containsExactlyElementsOf(IntStream.range(0, rounds).boxed().toList());
    }

    @Test
    default void operationsCompletedBeforeAWriteImmAreVisibleBeforeItsImmediate() {
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(512);
        pair.to().recorder.hooks(Recorder.Hooks.onImmediate((endpoint, round) -> {
            checkSlot(pair.to(), 1024, stamp(round), 512);
            assertThat(pair.to().word(2048))
                    .as("the added word in round %d", round)
                    .isEqualTo(round + 1L);
        }));
        for (int i = 0; i < 200; i++) {
            int round = i;
            fillLongs(local, stamp(round));
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.write(1024, local.address(), 512, context));
            MemorySegment result = local.asSlice(0, 8);
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.fetchAdd(2048, 1, result.address(), context));
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, round, context));
            awaitImmediates(pair, round + 1);
        }
    }

    @Test
    default void immediatesOfEachThreadArriveInOrder() {
        int threads = 3;
        int count = 2_000;
        Pair pair = fabrics().pair();
        pair.from().startPolling();
        pair.to().startPolling();

        Workers.run(threads, thread -> {
            Deadline deadline = Deadline.generous();
            for (int i = 0; i < count; i++) {
                int immediate = thread << 16 | i;
                Posted posted = postImmediate(pair, immediate);
                while (posted.answer() == Post.BUSY) {
                    deadline.check("a busy endpoint to take an immediate");
                    Deadline.pause();
                    posted = postImmediate(pair, immediate);
                }
                assertThat(posted.wasTaken()).as("%s", posted).isTrue();
            }
        });
        awaitImmediates(pair, threads * count);
        pair.from().stopPolling();
        pair.to().stopPolling();

        for (int thread = 0; thread < threads; thread++) {
            int of = thread;
            assertThat(pair.to().log(pair.in()).immediates.stream().filter(i -> i >> 16 == of))
                    .as("immediates of thread %d", thread)
                    .containsExactlyElementsOf(IntStream.range(0, count)
                            .mapToObj(i -> of << 16 | i)
                            .toList());
        }
    }

    @Test
    default void immediatesThatThePeerDoesNotPollAreKeptOrRefusedAsBusy() {
        Pair pair = fabrics().pair();
        List<Posted> taken = new ArrayList<>();
        Posted posted = postImmediate(pair, 0);
        while (posted.wasTaken() && taken.size() < 30_000) {
            taken.add(posted);
            posted = postImmediate(pair, taken.size());
        }
        assertThat(posted.answer()).isIn(Post.BUSY, Post.DONE, Post.ACCEPTED);
        int count = taken.size() + (posted.wasTaken() ? 1 : 0);
        awaitImmediates(pair, count);
        fabrics().settle();

        assertThat(pair.to().log(pair.in()).immediates)
                .containsExactlyElementsOf(IntStream.range(0, count).boxed().toList());
        assertThat(taken).allMatch(Posted::succeeded);
        // After BUSY, the endpoint accepts posts again once it was polled.
        fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, -7, context));
        awaitImmediates(pair, count + 1);
    }

    @Test
    default void aPeerThatDoesNotPollCanStillBeReadAndWritten() {
        Pair pair = fabrics().pair();
        assumeThat(pair.from().fabric.capabilities().oneSided()).as("one-sided").isTrue();
        List<Posted> immediates = new ArrayList<>();
        for (int i = 0; i < 30_000 && (i == 0 || immediates.getLast().wasTaken()); i++) {
            immediates.add(postImmediate(pair, i));
        }
        MemorySegment local = pair.from().local(16);
        local.set(JAVA_LONG, 0, 99);
        Deadline deadline = Deadline.generous();
        Posted write = alone(pair, deadline, (to, context) -> to.write(0, local.address(), 8, context));
        Posted read = alone(pair, deadline, (to, context) -> to.read(0, local.address() + 8, 8, context));

        assertThat(write.succeeded()).isTrue();
        assertThat(read.succeeded()).isTrue();
        assertThat(local.get(JAVA_LONG, 8)).isEqualTo(99);
    }

    /** Runs an operation while only the posting side polls. */
    private static Posted alone(Pair pair, Deadline deadline, Posted.Operation operation) {
        Posted posted = pair.from().recorder.post(pair.out(), operation);
        while (!posted.wasTaken() || !posted.isOver()) {
            deadline.check("an operation on a peer that does not poll");
            pair.from().step();
            if (!posted.wasTaken()) {
                posted = pair.from().recorder.post(pair.out(), operation);
            }
        }
        return posted;
    }

    @Test
    default void immediatesFlowInBothDirectionsAtOnce() {
        int count = 3_000;
        Pair pair = fabrics().pair();
        for (int i = 0; i < count; i++) {
            int immediate = i;
            fabrics().post(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, immediate, context));
            fabrics().post(pair.to(), pair.in(), (to, context) -> to.writeImm(0, 0, 0, -immediate, context));
        }
        awaitImmediates(pair, count);
        fabrics().until(() -> pair.from().log(pair.out()).immediates.size() >= count, "the immediates back");

        assertThat(pair.to().log(pair.in()).immediates)
                .containsExactlyElementsOf(IntStream.range(0, count).boxed().toList());
        assertThat(pair.from().log(pair.out()).immediates)
                .containsExactlyElementsOf(
                        IntStream.range(0, count).mapToObj(i -> -i).toList());
    }

    @Test
    default void aHandlerMayAnswerAnImmediateWithAnother() {
        int rounds = 500;
        Pair pair = fabrics().pair();
        AtomicInteger owed = new AtomicInteger();
        pair.to().recorder.hooks(Recorder.Hooks.onImmediate((endpoint, immediate) -> {
            if (!answer(pair.to(), endpoint, immediate)) {
                owed.set(immediate);
            }
        }));
        for (int i = 1; i <= rounds; i++) {
            int round = i;
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, round, context));
            fabrics()
                    .until(
                            () -> {
                                if (owed.get() != 0 && answer(pair.to(), pair.in(), owed.get())) {
                                    owed.set(0);
                                }
                                return pair.from().log(pair.out()).immediates.size() >= round;
                            },
                            "answer " + round);
        }
        assertThat(pair.from().log(pair.out()).immediates)
                .containsExactlyElementsOf(
                        IntStream.rangeClosed(1, rounds).mapToObj(i -> -i).toList());
    }

    private static boolean answer(TestNode node, FabricEndpoint endpoint, int immediate) {
        return node.recorder
                .post(endpoint, (to, context) -> to.writeImm(0, 0, 0, -immediate, context))
                .wasTaken();
    }

    private static Posted postImmediate(Pair pair, int immediate) {
        return pair.from().recorder.post(pair.out(), (to, context) -> to.writeImm(0, 0, 0, immediate, context));
    }

    private void awaitImmediates(Pair pair, int count) {
        fabrics().until(() -> pair.to().log(pair.in()).immediates.size() >= count, "%d immediates".formatted(count));
    }

    private static long stamp(int round) {
        return (round + 1) * 0x9E3779B97F4A7C15L;
    }

    private static void fillLongs(MemorySegment segment, long value) {
        for (long at = 0; at < segment.byteSize(); at += Long.BYTES) {
            segment.set(JAVA_LONG, at, value);
        }
    }

    private static void checkSlot(TestNode node, long offset, long expected, int length) {
        for (long at = 0; at < length; at += Long.BYTES) {
            long value = node.memory.segment().get(JAVA_LONG, offset + at);
            if (value != expected) {
                throw new AssertionError("at byte %d of the slot at %d: %x instead of %x at the immediate"
                        .formatted(at, offset, value, expected));
            }
        }
    }
}
