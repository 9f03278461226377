package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Polling;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Frames of several threads on one lane, sent together. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CombiningTest {
    private static final int THREADS = 8;
    private static final int THREAD_SHIFT = 20;
    private static final int NUMBER_MASK = (1 << THREAD_SHIFT) - 1;
    /** Longer than an inline payload, so that a frame has up to three ranges. */
    private static final int PAYLOAD_MAX = 5000;

    private static final int REGION = 8 << 10;

    private static final long HALF = TestNode.MEMORY_BYTES / 2;
    private static final int FILLING = 6;
    private static final int FILLED = -1;
    private static final int PARTS = 20;
    /** As callers do. Threads that do not sleep would take most of the processors from the thread that makes room. */
    private static final long BUSY_PAUSE_NS = 20_000;

    @Test
    void aPostingThreadLeavesItsFramesToTheThreadThatPolls() {
        try (var arena = Arena.ofConfined()) {
            var wire = new CountingWire(arena);
            var polled = new Left(true);
            var outbound = new Outbound(wire, polled, arena);
            for (int i = 0; i < 10; i++) {
                assertThat(post(outbound, i)).isEqualTo(Post.ACCEPTED);
            }
            assertThat(wire.writes).isZero();
            assertThat(polled.left).isEqualTo(10);

            outbound.send();

            assertThat(wire.writes).as("one write for all of them").isEqualTo(1);
            assertThat(wire.numbers()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        }
    }

    @Test
    void aPostingThreadSendsItselfIfNoThreadPollsOrThePollingThreadJustStopped() {
        try (var arena = Arena.ofConfined()) {
            var wire = new CountingWire(arena);
            assertThat(post(new Outbound(wire, new Left(false), arena), 1)).isEqualTo(Post.ACCEPTED);
            assertThat(wire.writes).isEqualTo(1);
            var stopped = new Left(true) {
                @Override
                public boolean leave(int promptBefore, boolean soon) {
                    return false;
                }
            };
            assertThat(post(new Outbound(wire, stopped, arena), 2)).isEqualTo(Post.ACCEPTED);
            assertThat(wire.numbers()).containsExactly(1, 2);
        }
    }

    @Test
    void theAnswersToAllRequestsOfOneReceiveGoInOneWrite() {
        try (var arena = Arena.ofConfined()) {
            var wire = new CountingWire(arena);
            var outbound = new Outbound(wire, new Left(false), arena);
            var memory = arena.allocate(4096, 8);
            var inbound = new Inbound(wire, outbound, new Memory(memory.address(), 4096), arena);
            wire.input = arena.allocate(10L * Frame.HEADER_BYTES, 8);
            for (int i = 0; i < 10; i++) {
                long header = wire.input.address() + (long) i * Frame.HEADER_BYTES;
                Frame.encode(header, Frame.READ, 0, 64, 0, 64L * i, 0, 0);
            }
            while (inbound.step() != Inbound.Step.IDLE) {
                // Every step consumes input.
            }
            outbound.sendAnswers();

            assertThat(wire.writes).isEqualTo(1);
            assertThat(wire.numbers()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        }
    }

    @Test
    void anErrorOfTheHandlerLeavesNoInputAndNoAnswerBehind() {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            ((TcpFabric) b.fabric).departures.poll(System.nanoTime() + TestNode.nanos(100));
            // All in one write, so that the owner receives the read before and the one after the error together.
            join(Thread.ofPlatform().start(() -> {
                assertThat(toA.read(0, b.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
                assertThat(toA.writeImm(0, b.address(), 0, 1, 2)).isEqualTo(Post.ACCEPTED);
                assertThat(toA.read(0, b.address(), 8, 3)).isEqualTo(Post.ACCEPTED);
            }));
            boolean armed = b.fabric.arm();
            assertThat(armed).isTrue();
            b.fabric.disarm();
            a.onImmediate = () -> {
                a.onImmediate = () -> {};
                throw new IllegalStateException("a defect");
            };

            assertThatIllegalStateException()
                    .isThrownBy(() -> TestNode.until("the error", () -> false, a))
                    .withMessage("a defect");

            assertThat(a.fabric.arm()).as("idle, although input is left").isFalse();
            a.fabric.disarm();
            int unused = a.fabric.poll(16);
            TestNode.until("answered", () -> b.completed.size() == 3, b, a);
        }
    }

    /** Else the peer's post ends only with the next frame to it, or with its ping after seconds. */
    @Test
    void anImmediateWhoseHandlerFailsIsAcknowledged() {
        try (var a = new TestNode("a", "lanes", "1", "peer-timeout-ms", "600000");
                var b = new TestNode("b", "lanes", "1", "peer-timeout-ms", "600000")) {
            var toA = b.connectTo(a);
            a.onImmediate = () -> {
                a.onImmediate = () -> {};
                throw new IllegalStateException("a defect");
            };
            assertThat(toA.writeImm(0, b.address(), 8, 1, 1)).isEqualTo(Post.ACCEPTED);
            assertThatIllegalStateException()
                    .isThrownBy(() -> TestNode.until("the error", () -> false, a))
                    .withMessage("a defect");

            TestNode.until("acknowledged", () -> b.completed.contains(1L), b, a);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"poll", "await", "arm"})
    void aFrameLeftToAThreadIsSentByItsNextPollOrWhenItStopsPolling(String next) {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            // As if this thread had just polled.
            ((TcpFabric) b.fabric).departures.poll(System.nanoTime() + TestNode.nanos(100));
            join(Thread.ofPlatform().start(() -> toA.writeImm(0, b.address(), 8, 1, 1)));
            for (int i = 0; i < 100; i++) {
                int unused = a.fabric.poll(16);
            }
            assertThat(a.immediates).as("left").isEmpty();

            switch (next) {
                case "poll" -> assertThat(b.fabric.poll(16)).isZero();
                case "await" -> b.fabric.await(0);
                default -> assertThat(b.fabric.arm()).isTrue();
            }
            TestNode.until("arrived", () -> a.immediates.contains(1), a);
        }
    }

    @Test
    void aFrameLeftToAThreadIsSentBeforeItsLaneIsClosed() {
        try (var arena = Arena.ofConfined()) {
            var wire = new CountingWire(arena);
            var outbound = new Outbound(wire, new Left(true), arena);
            assertThat(post(outbound, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(wire.writes).isZero();

            outbound.close();

            assertThat(wire.numbers()).containsExactly(1);
            assertThat(post(outbound, 2)).isEqualTo(Post.CLOSED);
        }
    }

    @Test
    void theRestOfALargeQueueIsSentBeforeItsLaneIsClosed() {
        try (var arena = Arena.ofConfined()) {
            long batch = Outbound.BATCH_BYTES;
            var wire = new CountingWire(arena, 11 * batch);
            var outbound = new Outbound(wire, new Left(true), arena);
            long from = arena.allocate(10 * batch, 8).address();
            assertThat(outbound.post(Frame.WRITE, 0, from, (int) (10 * batch), 1, 0, 0, 1, false))
                    .isEqualTo(Post.ACCEPTED);
            outbound.send();
            assertThat(wire.sentBytes).isLessThan(10 * batch);

            outbound.close();

            assertThat(wire.sentBytes).isEqualTo(Frame.HEADER_BYTES + 10 * batch);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, Integer.MIN_VALUE, -5})
    void aPostWaitsForNoAnswerWhenOnlyImmediatesWerePostedForALongTime(int prompt) {
        var operations = new Operations(prompt + Integer.MAX_VALUE - 3, prompt); // so many immediates since
        var departures = new Departures();
        departures.armed(true);
        for (int i = 0; i < 2 * Operations.MAX; i++) {
            assertThat(departures.isPolled(operations, operations.promptPosted(), false))
                    .as("after %d more immediates", i)
                    .isFalse();
            operations.add(Frame.WRITE_IMM, 0, 0, i);
            assertThat(operations.isOutstanding(operations.promptPosted()))
                    .as("an immediate is not answered promptly")
                    .isFalse();
            long unused = operations.end();
        }
        operations.add(Frame.READ, 0, 0, 0);
        operations.add(Frame.WRITE_IMM, 0, 0, 0);
        assertThat(departures.isPolled(operations, operations.promptPosted(), false))
                .as("a read is under way")
                .isTrue();
    }

    @Test
    void aThreadThatStoppedPollingOrAnAnswerThatCameMeanwhileMakesThePostSendItself() {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = (TcpEndpoint) b.connectTo(a);
            var link = toA.link();
            assertThat(link).isNotNull();
            var lane = link.lanes()[0];
            var operations = lane.outbound.operations;
            var departures = ((TcpFabric) b.fabric).departures;
            departures.poll(System.nanoTime());
            assertThat(departures.leave(lane, operations, 0, false))
                    .as("this thread polls")
                    .isTrue();
            departures.stop();
            assertThat(departures.leave(lane, operations, 0, false))
                    .as("it stopped")
                    .isFalse();

            departures.armed(true);
            assertThat(departures.isPolled(operations, 0, false)).isFalse();
            assertThat(toA.read(0, b.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(departures.isPolled(operations, 1, false))
                    .as("an answer is due")
                    .isTrue();
            assertThat(departures.leave(lane, operations, 1, false)).isTrue();
            TestNode.until("answered", () -> b.completed.contains(1L), b, a);
            departures.stop();
            assertThat(departures.leave(lane, operations, 1, false))
                    .as("the answer came")
                    .isFalse();
        }
    }

    @RepeatedTest(2)
    void framesOfManyThreadsArriveWholeOnceAndInTheOrderOfEachThread() {
        int each = 1000;
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            var posters = new Posters(b, toA, each, false);
            TestNode.until("all arrived", () -> a.immediates.size() >= THREADS * each, b, a);
            TestNode.until("all completed", () -> b.completed.size() >= THREADS * each, b, a);
            posters.join();

            assertInOrder(a.immediates, each);
            assertThat(b.completed)
                    .as("each post ends once")
                    .doesNotHaveDuplicates()
                    .hasSize(THREADS * each);
            for (int thread = 0; thread < THREADS; thread++) {
                long region = (long) thread * REGION;
                int bytes = a.memory.get(JAVA_INT, region + 4);
                assertThat(a.memory.get(JAVA_INT, region)).isEqualTo(each - 1);
                assertThat(a.memory.asSlice(region + 8, bytes - 8).toArray(JAVA_BYTE))
                        .as("payload of %d bytes of thread %d", bytes, thread)
                        .containsOnly((byte) (each - 1));
            }
        }
    }

    /** Whether the threads' frames came once and in order. */
    private static void assertInOrder(List<Integer> immediates, int each) {
        int[] next = new int[THREADS];
        for (int immediate : immediates) {
            int thread = immediate >>> THREAD_SHIFT;
            assertThat(immediate & NUMBER_MASK)
                    .as("next frame of thread %d", thread)
                    .isEqualTo(next[thread]++);
        }
        assertThat(Arrays.stream(next).allMatch(got -> got == each)).isTrue();
    }

    @Test
    void anAsynchronousFrameStaysQueuedUntilTheAnswerBeforeItCameAndIsNotForgotten() {
        int count = 200;
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            for (int round = 1; round <= 100; round++) {
                boolean armed = b.fabric.arm();
                var stopped = new AtomicBoolean();
                var standby = Thread.ofPlatform().daemon().start(() -> standBy(b, stopped));
                for (int i = 0; i < count; i++) {
                    b.memory.set(JAVA_INT, 4L * i, round + i);
                    assertThat(toA.write(4L * i, b.address() + 4L * i, 4, i)).isEqualTo(Post.ACCEPTED);
                }
                int last = round + count - 1;
                // Only the standby thread polls b, and only after an event.
                TestNode.until(
                        "all written, armed: " + armed, () -> a.memory.get(JAVA_INT, 4L * (count - 1)) == last, a);
                stopped.set(true);
                b.fabric.wakeup();
                join(standby);
                int all = round * count;
                TestNode.until("completed", () -> b.completed.size() == all, b, a);
            }
        }
    }

    /** Polls after an event, like the node's standby thread. */
    private static void standBy(TestNode node, AtomicBoolean stopped) {
        while (!stopped.get()) {
            node.fabric.awaitArmed(TestNode.nanos(4));
            node.fabric.disarm();
            while (node.fabric.poll(256) > 0) {
                // There may be more.
            }
            while (!node.fabric.arm()) {
                int unused = node.fabric.poll(256);
            }
        }
        node.fabric.disarm();
    }

    private static void join(Thread thread) {
        try {
            assertThat(thread.join(Duration.ofNanos(TestNode.nanos(20))))
                    .as("the thread ended")
                    .isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Nobody polls the posting node after its last arm(), so a frame that was left and forgotten would never arrive. */
    @Test
    void noFrameStaysBehindWhenTheThreadThatPolledStops() {
        int each = 16;
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            for (int round = 1; round <= 100; round++) {
                var posters = new Posters(b, toA, each, false);
                while (posters.areRunning()) {
                    int unused = b.fabric.poll(16);
                }
                boolean armed = b.fabric.arm();
                int all = round * THREADS * each;
                TestNode.until("all arrived, armed: " + armed, () -> a.immediates.size() == all, a);
                posters.join();
                b.fabric.disarm();
                TestNode.until("completed", () -> b.completed.size() == all, b, a);
            }
        }
    }

    @Test
    void aFullSocketKeepsTheFramesOfAllThreadsInOrder() {
        int each = 1000;
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            // Only b polls: the socket fills up in the middle of a frame, and then the queue.
            fill(b, toA);
            var posters = new Posters(b, toA, each, false);
            TestNode.until("full", () -> posters.busy.get() > THREADS, b);
            int all = THREADS * each + FILLING;
            // In parts, so that a machine on which this thread rarely runs has enough time for all of them.
            for (int part = 1; part <= PARTS; part++) {
                int some = all * part / PARTS;
                TestNode.until("%d of %d arrived".formatted(some, all), () -> a.immediates.size() >= some, b, a);
            }
            posters.join();
            assertThat(a.immediates).hasSize(all);
            assertInOrder(a.immediates.stream().filter(got -> got != FILLED).toList(), each);
        }
    }

    @RepeatedTest(3)
    void aConnectionCutInTheMiddleOfAGatheredWriteEndsEachPostOnce() {
        long seed = System.nanoTime();
        int before = new Random(seed).nextInt(1000);
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            fill(b, toA);
            var posters = new Posters(b, toA, NUMBER_MASK, true);
            TestNode.until("some arrived", () -> a.immediates.size() >= before, b, a);
            // Now only b polls: the socket and the queue fill up.
            TestNode.until("full", () -> posters.busy.get() > THREADS, b);
            a.accepted.getFirst().close();
            TestNode.until("cut", () -> b.disconnected.containsKey(toA), b, a);
            posters.join();

            List<Long> ended = new ArrayList<>(b.completed);
            ended.addAll(b.failed.keySet());
            assertThat(b.failed).as("seed %d", seed).isNotEmpty();
            assertThat(ended)
                    .as("each accepted post ends exactly once; seed %d", seed)
                    .doesNotHaveDuplicates()
                    .hasSize(posters.accepted.get() + FILLING);
            assertThat(b.failures).isEqualTo(b.failed.size());
            assertThat(toA.write(0, b.address(), 8, 0)).isEqualTo(Post.CLOSED);
        }
    }

    /** Posts more than a socket takes while the peer does not receive. */
    private static void fill(TestNode node, FabricEndpoint endpoint) {
        for (int i = 1; i <= FILLING; i++) {
            assertThat(endpoint.writeImm(HALF, node.address() + HALF, HALF, FILLED, -i))
                    .isEqualTo(Post.ACCEPTED);
        }
    }

    private static Post post(Outbound outbound, int number) {
        return outbound.post(Frame.WRITE_IMM, 0, 0, 0, number, 0, 0, number, false);
    }

    /** Else a caller would be in its post for as long as the peers keep the poll role busy, whatever its deadline. */
    @Test
    void aThreadThatPostsDoesNotSendForThePollRoleForEver() {
        int answers = 4 * Outbound.WRITES_MAX;
        try (var arena = Arena.ofConfined()) {
            var wire = new AnsweringWire(arena, answers);
            var left = new LeftByWriter(wire, true);
            var outbound = new Outbound(wire, left, arena);
            wire.answering = outbound;

            assertThat(post(outbound, -1)).isEqualTo(Post.ACCEPTED);

            assertThat(wire.writes).as("writes of the posting thread").isEqualTo(Outbound.WRITES_MAX);
            assertThat(left.left).as("left to the next poll").isEqualTo(1);
            while (wire.numbers().size() <= answers) {
                int before = wire.writes;
                outbound.send();
                assertThat(wire.writes).as("writes of a poll").isGreaterThan(before);
            }
            assertThat(wire.numbers()).hasSize(1 + answers).endsWith(answers - 1);
        }
    }

    @Test
    void aThreadThatPostsSendsAllWhenThePollThatWasToFollowDoesNot() {
        int answers = 4 * Outbound.WRITES_MAX;
        try (var arena = Arena.ofConfined()) {
            var wire = new AnsweringWire(arena, answers);
            var outbound = new Outbound(wire, new LeftByWriter(wire, false), arena);
            wire.answering = outbound;

            assertThat(post(outbound, -1)).isEqualTo(Post.ACCEPTED);

            assertThat(wire.numbers()).hasSize(1 + answers).endsWith(answers - 1);
        }
    }

    /** Else other lanes of the thread would wait for all of it: a peer may receive as fast as it sends. */
    @ParameterizedTest
    @ValueSource(ints = {1, 8, 40})
    void aLargeQueueIsSentInSeveralTurnsOfThePollRole(int frames) {
        long batch = Outbound.BATCH_BYTES;
        int payload = (int) (10 * batch / frames);
        long frame = (long) Frame.HEADER_BYTES + payload;
        try (var arena = Arena.ofConfined()) {
            var wire = new CountingWire(arena, 11 * batch);
            var continues = new ArrayList<Boolean>();
            var outbound = new Outbound(
                    wire,
                    new Left(true) {
                        @Override
                        public void full(boolean full) {
                            continues.add(full);
                        }
                    },
                    arena);
            var bytes = new byte[payload];
            new Random(frames).nextBytes(bytes);
            var from = arena.allocate(payload, 8).copyFrom(MemorySegment.ofArray(bytes));
            for (int i = 0; i < frames; i++) {
                assertThat(outbound.post(Frame.WRITE, 0, from.address(), payload, i, 0, 0, i, false))
                        .isEqualTo(Post.ACCEPTED);
            }

            outbound.send();

            assertThat(wire.sentBytes).as("the first turn").isBetween(batch, 3 * batch);
            assertThat(continues).as("the poll role continues").containsExactly(true);
            outbound.send();
            assertThat(wire.sentBytes).as("only that").isLessThanOrEqualTo(3 * batch);
            while (wire.sentBytes < frames * frame) {
                long before = wire.sentBytes;
                outbound.writable();
                assertThat(wire.sentBytes - before).as("another turn").isBetween(1L, 3 * batch);
            }
            assertThat(continues).as("until nothing is left").containsExactly(true, false);
            assertThat(wire.numbers()).hasSize(frames).isSorted();
            for (int i = 0; i < frames; i++) {
                assertThat(wire.sent()
                                .asSlice(i * frame + Frame.HEADER_BYTES, payload)
                                .mismatch(from))
                        .as("the payload of frame %d", i)
                        .isEqualTo(-1);
            }
        }
    }

    /** Somebody polls as soon as a thread has begun to write. */
    private static final class LeftByWriter extends Left {
        private final CountingWire wire;
        private final boolean pollFollows;

        LeftByWriter(CountingWire wire, boolean pollFollows) {
            super(false);
            this.wire = wire;
            this.pollFollows = pollFollows;
        }

        @Override
        public boolean isPolled(int promptBefore) {
            return wire.writes > 0;
        }

        @Override
        public boolean leave(int promptBefore, boolean soon) {
            return pollFollows && super.leave(promptBefore, soon);
        }
    }

    /** While a thread sends, another one answers a peer. */
    private static final class AnsweringWire extends CountingWire {
        private int answers;

        @Nullable
        Outbound answering;

        AnsweringWire(Arena arena, int answers) {
            super(arena);
            this.answers = answers;
        }

        @Override
        public long send(long address, long length) {
            var its = answering;
            if (its != null && answers > 0) {
                answers--;
                assertThat(its.answer(Frame.RESULT, 0, 0, 0)).isTrue();
            }
            return super.send(address, length);
        }
    }

    /** Threads that post writes with immediates to a region each; a payload contains its number. */
    private static final class Posters {
        final AtomicInteger accepted = new AtomicInteger();
        final AtomicInteger busy = new AtomicInteger();
        private final AtomicBoolean failed = new AtomicBoolean();
        private final List<Thread> threads = new ArrayList<>();

        /** @param untilClosed whether the connection's end ends the threads */
        Posters(TestNode from, FabricEndpoint to, int each, boolean untilClosed) {
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                threads.add(Thread.ofPlatform().daemon().start(() -> run(from, to, thread, each, untilClosed)));
            }
        }

        private void run(TestNode from, FabricEndpoint to, int thread, int each, boolean untilClosed) {
            var random = new Random(thread);
            long region = (long) thread * REGION;
            // A buffer for each outstanding operation of the lane: a payload in flight does not change.
            long buffers =
                    from.arena.allocate((Operations.MAX + 1L) * REGION, 8).address();
            for (int i = 0; i < each; i++) {
                int bytes =
                        i == each - 1 ? PAYLOAD_MAX : 8 + random.nextInt(random.nextBoolean() ? 64 : PAYLOAD_MAX - 8);
                long buffer = buffers + (long) (i % (Operations.MAX + 1)) * REGION;
                RawMemory.fill(buffer, bytes, (byte) i);
                RawMemory.putInt(buffer, i);
                RawMemory.putInt(buffer + 4, bytes);
                int immediate = thread << THREAD_SHIFT | i;
                Post post = to.writeImm(region, buffer, bytes, immediate, immediate);
                while (post == Post.BUSY) {
                    busy.incrementAndGet();
                    Polling.sleepNs(BUSY_PAUSE_NS);
                    post = to.writeImm(region, buffer, bytes, immediate, immediate);
                }
                if (post == Post.CLOSED) {
                    failed.compareAndSet(false, !untilClosed);
                    return;
                }
                accepted.incrementAndGet();
            }
        }

        boolean areRunning() {
            return threads.stream().anyMatch(Thread::isAlive);
        }

        void join() {
            threads.forEach(CombiningTest::join);
            assertThat(failed).as("a post was refused").isFalse();
        }
    }

    /** Answers whether a thread polls, and counts what was left to it. */
    static class Left implements Outbound.Trouble {
        private final boolean polled;
        int left;

        Left(boolean polled) {
            this.polled = polled;
        }

        @Override
        public void full(boolean full) {}

        @Override
        public void broken(String reason) {
            throw new AssertionError(reason);
        }

        @Override
        public boolean isPolled(int promptBefore) {
            return polled;
        }

        @Override
        public boolean leave(int promptBefore, boolean soon) {
            left++;
            return true;
        }
    }
}
