package dev.lite.fabric.conformance;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.fabric.conformance.TestFabrics.Pair;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Closing endpoints and fabrics. After each case, the suite checks that every accepted post ended exactly once, and that every
 * endpoint was disconnected exactly once, after its posts.
 */
interface ClosingCases extends ConformanceCases {

    @Test
    default void postsToAClosedEndpointAnswerClosed() {
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(8);

        pair.out().close();

        for (Posted posted : Posts.oneOfEach(pair.from(), pair.out(), local)) {
            assertThat(posted.answer()).isEqualTo(Post.CLOSED);
        }
        awaitBothDisconnected(pair);
        for (Posted posted : Posts.oneOfEach(pair.from(), pair.out(), local)) {
            assertThat(posted.answer()).isEqualTo(Post.CLOSED);
        }
        for (Posted posted : Posts.oneOfEach(pair.to(), pair.in(), pair.to().local(8))) {
            assertThat(posted.answer()).isEqualTo(Post.CLOSED);
        }
    }

    @Test
    default void aClosedEndpointStillKnowsItsPeer() {
        Pair pair = fabrics().pair();
        byte[] hello = pair.out().hello();

        pair.out().close();
        awaitBothDisconnected(pair);

        assertThat(pair.out().hello()).isEqualTo(hello);
        assertThat(pair.out().remoteSize()).isEqualTo(TestFabrics.MEMORY_BYTES);
    }

    @Test
    default void bothSidesAreDisconnectedOnceAndWithAReason() {
        Pair pair = fabrics().pair();

        pair.out().close();
        pair.out().close();
        awaitBothDisconnected(pair);
        pair.out().close();
        pair.in().close();
        fabrics().settle();

        assertThat(pair.from().log(pair.out()).disconnected).hasValue(1);
        assertThat(pair.to().log(pair.in()).disconnected).hasValue(1);
        assertThat(pair.from().log(pair.out()).reason).isNotBlank();
        assertThat(pair.to().log(pair.in()).reason).isNotBlank();
    }

    @Test
    default void theAcceptingSideMayCloseToo() {
        Pair pair = fabrics().pair();

        pair.in().close();

        awaitBothDisconnected(pair);
    }

    @Test
    default void bothSidesMayCloseAtOnce() {
        Pair pair = fabrics().pair();
        Posts.many(pair.from(), pair.out(), pair.from().local(64), 1_000);
        Posts.many(pair.to(), pair.in(), pair.to().local(64), 1_000);

        pair.out().close();
        pair.in().close();

        awaitBothDisconnected(pair);
        fabrics().settle();
    }

    @Test
    default void anEndpointClosedWhileItConnectsIsDisconnected() {
        TestNode alpha = fabrics().open("alpha");
        TestNode beta = fabrics().open("beta");
        for (int i = 0; i < 20; i++) {
            FabricEndpoint endpoint = alpha.connect(beta);
            for (int steps = 0; steps < i; steps++) {
                beta.step();
            }
            endpoint.close();
            assertThat(alpha.recorder
                            .post(endpoint, (to, context) -> to.write(0, 0, 0, context))
                            .answer())
                    .isEqualTo(Post.CLOSED);
            fabrics().until(() -> alpha.isDisconnected(endpoint), "disconnected");
        }
        fabrics()
                .until(
                        () -> beta.recorder.acceptedEndpoints().stream().allMatch(beta::isDisconnected),
                        "the accepted endpoints to be disconnected");
    }

    @Test
    default void everyPostEndsOnceWhenItsEndpointIsClosed() {
        Pair pair = fabrics().pair();
        for (int i = 0; i < 10; i++) {
            List<Posted> posts = Posts.many(pair.from(), pair.out(), pair.from().local(64), 2_000);
            for (int steps = 0; steps < i; steps++) {
                pair.from().poll(1);
            }

            pair.out().close();
            awaitBothDisconnected(pair);

            assertThat(posts).isNotEmpty().allMatch(Posted::isOver);
            pair = fabrics().connect(pair.from(), pair.to());
        }
    }

    @Test
    default void everyPostEndsOnceWhenThePeerCloses() {
        Pair pair = fabrics().pair();
        for (int i = 0; i < 10; i++) {
            List<Posted> posts = Posts.many(pair.from(), pair.out(), pair.from().local(64), 2_000);
            for (int steps = 0; steps < i; steps++) {
                pair.to().poll(1);
            }

            pair.in().close();
            awaitBothDisconnected(pair);

            assertThat(posts).isNotEmpty().allMatch(Posted::isOver);
            pair = fabrics().connect(pair.from(), pair.to());
        }
    }

    @Test
    default void everyPostEndsOnceBeforeCloseOfItsFabricReturns() {
        Pair pair = fabrics().pair();
        Pair other = fabrics().connect(pair.from(), fabrics().open("gamma"));
        List<Posted> posts = Posts.many(pair.from(), pair.out(), pair.from().local(64), 2_000);
        List<Posted> others = Posts.many(other.from(), other.out(), other.from().local(64), 2_000);

        pair.from().close();

        assertThat(posts).isNotEmpty().allMatch(Posted::isOver);
        assertThat(others).isNotEmpty().allMatch(Posted::isOver);
        assertThat(pair.from().isDisconnected(pair.out())).isTrue();
        assertThat(pair.from().isDisconnected(other.out())).isTrue();
        for (Posted posted :
                Posts.oneOfEach(pair.from(), pair.out(), pair.from().local(8))) {
            assertThat(posted.answer()).isEqualTo(Post.CLOSED);
        }
        // The recorder reports any handler call after the close, because it is outside of poll and close.
        assertThat(pair.from().fabric.poll(100)).isZero();
        pair.from().fabric.await(Long.MAX_VALUE);
        pair.from().fabric.wakeup();
        pair.from().fabric.close();
        awaitPeerDisconnected(pair);
        awaitPeerDisconnected(other);
    }

    @Test
    default void everyPostEndsOnceWhenThePeersFabricIsClosed() {
        Pair pair = fabrics().pair();
        Pair back = fabrics().connect(pair.to(), pair.from());
        List<Posted> posts = Posts.many(pair.from(), pair.out(), pair.from().local(64), 2_000);
        List<Posted> others = Posts.many(pair.from(), back.in(), pair.from().local(64), 2_000);

        pair.to().close();
        fabrics()
                .until(
                        () -> pair.from().isDisconnected(pair.out())
                                && pair.from().isDisconnected(back.in()),
                        "the endpoints here to be disconnected");

        assertThat(posts).isNotEmpty().allMatch(Posted::isOver);
        assertThat(others).isNotEmpty().allMatch(Posted::isOver);
        assertThat(pair.from().log(pair.out()).reason).isNotBlank();
        for (Posted posted :
                Posts.oneOfEach(pair.from(), pair.out(), pair.from().local(8))) {
            assertThat(posted.answer()).isEqualTo(Post.CLOSED);
        }
    }

    @Test
    default void everyPostOfFourThreadsEndsOnceWhenTheEndpointIsClosedMeanwhile() {
        Pair first = fabrics().pair();
        MemorySegment local = first.from().local(4 * 64);
        first.from().startPolling();
        first.to().startPolling();
        for (int i = 0; i < 10; i++) {
            Pair pair = i == 0 ? first : fabrics().connect(first.from(), first.to());
            AtomicInteger posts = new AtomicInteger();
            Workers workers = Workers.start(
                    4, thread -> postUntilClosed(pair.from(), pair.out(), local.asSlice(thread * 64L, 64), posts));
            Deadline.generous().waitFor(() -> posts.get() > 200, "200 posts");

            (i % 2 == 0 ? pair.out() : pair.in()).close();

            workers.join();
            fabrics()
                    .until(
                            () -> pair.from().isDisconnected(pair.out())
                                    && pair.to().isDisconnected(pair.in()),
                            "both to be disconnected");
        }
    }

    @Test
    default void everyPostOfFourThreadsEndsOnceWhenAFabricIsClosedMeanwhile() {
        for (boolean own : new boolean[] {true, false}) {
            TestNode alpha = fabrics().open("alpha-" + own);
            TestNode beta = fabrics().open("beta-" + own);
            Pair pair = fabrics().connect(alpha, beta);
            MemorySegment local = alpha.local(4 * 64);
            alpha.startPolling();
            beta.startPolling();
            AtomicInteger posts = new AtomicInteger();
            Workers workers = Workers.start(
                    4, thread -> postUntilClosed(alpha, pair.out(), local.asSlice(thread * 64L, 64), posts));
            Deadline.generous().waitFor(() -> posts.get() > 200, "200 posts");

            (own ? alpha : beta).close();

            workers.join();
        }
    }

    private static void postUntilClosed(
            TestNode node, FabricEndpoint endpoint, MemorySegment local, AtomicInteger posts) {
        Deadline deadline = Deadline.generous();
        for (int i = 0; ; i++) {
            int n = i;
            Posted posted = node.recorder.post(endpoint, (to, context) -> switch (n % 3) {
                case 0 -> to.write(0, local.address(), 8, context);
                case 1 -> to.fetchAdd(8, 1, local.address() + 8, context);
                default -> to.writeImm(16, local.address(), 8, n, context);
            });
            if (posted.answer() == Post.CLOSED) {
                return;
            }
            deadline.check("a post to the closing endpoint to answer CLOSED");
            posts.incrementAndGet();
            if (posted.answer() == Post.BUSY) {
                Deadline.pause();
            }
        }
    }

    @Test
    default void afterCloseReturnsNoPostTouchesThePeersMemory() {
        Pair first = fabrics().pair();
        int bytes = 32 << 10;
        MemorySegment local = first.from().local(4L * bytes);
        first.from().startPolling();
        first.to().startPolling();
        for (int i = 0; i < 20; i++) {
            Pair pair = i == 0 ? first : fabrics().connect(first.from(), first.to());
            AtomicInteger posts = new AtomicInteger();
            Workers workers = Workers.start(
                    4,
                    thread -> writeChangingContents(pair, local.asSlice((long) thread * bytes, bytes), thread, posts));
            Deadline.generous().waitFor(() -> posts.get() > 20, "20 writes");

            pair.out().close();
            byte[] atClose = pair.to().bytes(0, 4L * bytes);

            workers.join();
            fabrics()
                    .until(
                            () -> pair.from().isDisconnected(pair.out())
                                    && pair.to().isDisconnected(pair.in()),
                            "both to be disconnected");
            assertThat(pair.to().target().asSlice(0, atClose.length).mismatch(MemorySegment.ofArray(atClose)))
                    .as("first byte of the peer's memory that changed after close returned, round %d", i)
                    .isEqualTo(-1);
        }
    }

    /** Writes changing contents until the endpoint is closed. */
    private static void writeChangingContents(Pair pair, MemorySegment local, int thread, AtomicInteger posts) {
        Deadline deadline = Deadline.generous();
        long offset = thread * local.byteSize();
        for (byte content = 1; ; content++) {
            local.fill(content);
            Posted posted = pair.from()
                    .recorder
                    .post(pair.out(), (to, context) -> to.write(offset, local.address(), local.byteSize(), context));
            while (!posted.isOver()) {
                deadline.check("the end of " + posted);
                Deadline.pause();
            }
            if (posted.answer() == Post.CLOSED) {
                return;
            }
            deadline.check("a post to the closing endpoint to answer CLOSED");
            posts.incrementAndGet();
        }
    }

    @Test
    default void anOutstandingAtomicOperationIsExecutedBeforeCloseReturnsOrNever() {
        Pair first = fabrics().pair();
        MemorySegment local = first.from().local(8);
        first.to().startPolling();
        long done = 0;
        for (int i = 0; i < 20; i++) {
            Pair pair = i == 0 ? first : fabrics().connect(first.from(), first.to());
            Posted posted = fabrics()
                    .post(pair.from(), pair.out(), (to, context) -> to.fetchAdd(0, 1, local.address(), context));

            pair.out().close();
            long atClose = pair.to().word(0);

            fabrics()
                    .until(
                            () -> pair.from().isDisconnected(pair.out())
                                    && pair.to().isDisconnected(pair.in()),
                            "both to be disconnected");
            done += posted.succeeded() ? 1 : 0;
            assertThat(pair.to().word(0))
                    .as("the peer's word, round %d; it was %d when close returned", i, atClose)
                    .isEqualTo(atClose)
                    .isGreaterThanOrEqualTo(done);
        }
        first.to().stopPolling();
    }

    @Test
    default void aHandlerMayCloseItsEndpoint() {
        Pair onImmediate = fabrics().pair();
        TestNode alpha = onImmediate.from();
        TestNode beta = onImmediate.to();
        beta.recorder.hooks(Recorder.Hooks.onImmediate((endpoint, immediate) -> endpoint.close()));
        fabrics().post(alpha, onImmediate.out(), (to, context) -> to.writeImm(0, 0, 0, 1, context));
        awaitBothDisconnected(onImmediate);

        beta.recorder.hooks(Recorder.Hooks.onConnected(FabricEndpoint::close));
        FabricEndpoint refused = alpha.connect(beta);
        fabrics().until(() -> alpha.isDisconnected(refused), "the refused endpoint to be disconnected");
        beta.recorder.hooks(Recorder.Hooks.NONE);

        Pair onEnded = fabrics().connect(alpha, beta);
        alpha.recorder.hooks(Recorder.Hooks.onEnded(FabricEndpoint::close));
        List<Posted> posts = Posts.many(alpha, onEnded.out(), alpha.local(64), 500);
        onEnded.out().close();
        awaitBothDisconnected(onEnded);
        assertThat(posts).allMatch(Posted::isOver);
    }

    @Test
    default void immediatesThatArriveBeforeThePeerClosesAreInOrderAndWithoutGaps() {
        Pair pair = fabrics().pair();
        int taken = 0;
        while (taken < 500
                && pair.from().recorder.post(pair.out(), immediate(taken)).wasTaken()) {
            taken++;
        }
        for (int i = 0; i < 20; i++) {
            pair.to().poll(1);
        }
        pair.out().close();
        awaitBothDisconnected(pair);

        List<Integer> seen = List.copyOf(pair.to().log(pair.in()).immediates);
        assertThat(seen)
                .hasSizeLessThanOrEqualTo(taken)
                .containsExactlyElementsOf(
                        IntStream.range(0, seen.size()).boxed().toList());
    }

    private static Posted.Operation immediate(int immediate) {
        return (to, context) -> to.writeImm(0, 0, 0, immediate, context);
    }

    @Test
    default void localMemoryBelongsToTheCallerAgainOnceItsPostEnded() {
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(200 * 64L);
        for (int i = 0; i < 10; i++) {
            List<Posted> reads = readsOf(pair, local);
            for (int polls = 0; polls < i; polls++) {
                pair.from().poll(1);
            }
            pair.out().close();
            fabrics().until(() -> reads.stream().allMatch(Posted::isOver), "the end of every read");
            local.fill((byte) -1);
            Pair closed = pair;
            pair = fabrics().connect(pair.from(), pair.to());
            awaitBothDisconnected(closed);
            fabrics().settle();

            for (long at = 0; at < local.byteSize(); at += Long.BYTES) {
                assertThat(local.get(JAVA_LONG, at))
                        .as("byte %d, round %d", at, i)
                        .isEqualTo(-1);
            }
        }
    }

    /** Posts reads without polling, each into its own 64 bytes. */
    private static List<Posted> readsOf(Pair pair, MemorySegment local) {
        List<Posted> reads = new ArrayList<>();
        for (long at = 0; at < local.byteSize(); at += 64) {
            long address = local.address() + at;
            Posted posted = pair.from().recorder.post(pair.out(), (to, context) -> to.read(0, address, 64, context));
            if (!posted.wasTaken()) {
                break;
            }
            reads.add(posted);
        }
        return reads;
    }

    @Test
    default void theEndOfOneNodeLeavesTheOthersConnected() {
        Pair stays = fabrics().pair();
        TestNode gamma = fabrics().open("gamma");
        Pair goes = fabrics().connect(gamma, stays.to());
        Posts.many(gamma, goes.out(), gamma.local(64), 1_000);

        gamma.close();
        awaitPeerDisconnected(goes);

        MemorySegment local = stays.from().local(8);
        fabrics().run(stays.from(), stays.out(), (to, context) -> to.writeImm(0, local.address(), 8, 6, context));
        fabrics().until(() -> stays.to().log(stays.in()).immediates.contains(6), "the immediate");
        assertThat(stays.from().isDisconnected(stays.out())).isFalse();
        assertThat(stays.to().isDisconnected(stays.in())).isFalse();
    }

    private void awaitBothDisconnected(Pair pair) {
        fabrics()
                .until(
                        () -> pair.from().isDisconnected(pair.out())
                                && pair.to().isDisconnected(pair.in()),
                        "both to be disconnected");
    }

    private void awaitPeerDisconnected(Pair pair) {
        fabrics().until(() -> pair.to().isDisconnected(pair.in()), "the peer to be disconnected");
    }
}
