package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Undescribed;
import dev.lite.testing.Waits;
import dev.lite.tier.Admission;
import dev.lite.tier.TierSession;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call whose reply meets an error: for example, there is no memory for it. */
class ErrorAtReplyTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final long LONG_NS = LONG.toNanos();
    /** Too long for the slot of a short request, in bytes. */
    static final int LONG_REPLY = 4096;

    @TempDir(factory = InDevShm.class)
    Path root;

    /** A call that no thread waits for. */
    private static class Failing extends PostedCall {
        final CompletableFuture<RuntimeException> failed = new CompletableFuture<>();

        @Override
        protected MemorySegment destination(int length) {
            throw new StackOverflowError("on purpose");
        }

        @Override
        protected void replied(int length) {
            failed.completeExceptionally(new AssertionError("there is a reply"));
        }

        @Override
        protected void failed(RuntimeException why) {
            failed.complete(why);
        }

        @Override
        protected void later(Runnable task) {
            Thread unused = Thread.ofVirtual().start(task);
        }
    }

    /** One that is not even given a thread. */
    private static final class FailingAlone extends Failing {
        @Override
        protected void later(Runnable task) {
            throw new StackOverflowError("on purpose");
        }
    }

    /** A client that has called the server once. */
    static FunctionClient withRing(TierSession session, RpcServer server) {
        FunctionClient client = (FunctionClient) session.rpc().bind("n1", "f");
        CompletableFuture<byte[]> first = client.callAsync(new byte[8], LONG);
        server.receive(LONG).reply(new byte[1]);
        assertThat(first).succeedsWithin(LONG);
        return client;
    }

    @Test
    void itFailsAndKeepsNoSlot() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            MemorySegment request = MemorySegment.ofArray(new byte[8]);
            for (int i = 0; i < 2 * RpcSlots.SMALL_MAX; i++) {
                Failing call = new Failing();
                assertThat(client.tryCall(request, 8, LONG_NS, call)).isTrue();
                server.receive(LONG).reply(new byte[1]);
                assertThat(call.failed).succeedsWithin(LONG).isInstanceOf(RpcFailedException.class);
            }
            session.close();
        }
    }

    /** A call whose end fails, too. */
    private static final class FailingAtEnd extends Failing {
        @Override
        protected void failed(RuntimeException why) {
            super.failed(why);
            throw new OutOfMemoryError("on purpose");
        }
    }

    /** Else the others wait until their deadlines, and keep their slots for ever. */
    @Test
    void theEndOfAConnectionEndsAllCallsAlsoIfTheEndOfOneMeetsAnError() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            MemorySegment request = MemorySegment.ofArray(new byte[8]);
            List<Failing> calls = List.of(new FailingAtEnd(), new FailingAtEnd(), new FailingAtEnd());
            for (Failing call : calls) {
                assertThat(client.tryCall(request, 8, LONG_NS, call)).isTrue();
            }
            Peer peer = Objects.requireNonNull(usedSlots(cluster, 0, 1).getFirst().peer);

            peer.endpoint().close();

            for (Failing call : calls) {
                assertThat(call.failed).succeedsWithin(LONG).isInstanceOf(NodeUnreachableException.class);
            }
            session.close();
        }
    }

    private static final class Counting implements Admission {
        final AtomicInteger ended = new AtomicInteger();

        @Override
        public boolean isLimited(boolean mapped) {
            return false;
        }

        @Override
        public void take(boolean mapped, long bytes, Deadline deadline) {}

        @Override
        public boolean tryTake(boolean mapped, long bytes) {
            return true;
        }

        @Override
        public long begin(boolean mapped) {
            return 1;
        }

        @Override
        public void end(boolean mapped, long bytes, long begun) {
            ended.incrementAndGet();
            throw new OutOfMemoryError("no memory to count more, on purpose");
        }
    }

    /** Else high priority would seem idle while its calls fail, and low priority would not be limited. */
    @Test
    void eachCallIsMeasuredOnceWhateverItsEndAndEndsAlsoIfThatFails() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            MemorySegment request = MemorySegment.ofArray(new byte[8]);
            List<Counting> counts = List.of(new Counting(), new Counting(), new Counting());
            List<Failing> calls = List.of(new Failing(), new Failing(), new Failing());
            for (int i = 0; i < 3; i++) {
                calls.get(i).measure(counts.get(i), 8);
                assertThat(client.tryCall(request, 8, LONG_NS, calls.get(i))).isTrue();
            }
            Peer peer = Objects.requireNonNull(usedSlots(cluster, 0, 1).getFirst().peer);

            server.receive(LONG).reply(new byte[1]);
            assertThat(calls.getFirst().failed).succeedsWithin(LONG).isInstanceOf(RpcFailedException.class);
            assertThat(calls.getLast().abandon()).isTrue();
            peer.endpoint().close();
            assertThat(calls.get(1).failed).succeedsWithin(LONG).isInstanceOf(NodeUnreachableException.class);

            assertThat(counts).allSatisfy(count -> assertThat(count.ended).hasValue(1));
            session.close();
        }
    }

    /** Else nobody would end it: the session of an application would never close. */
    @Test
    void itFailsAlsoIfThereIsNoMemoryToSayWhy() {
        Failing call = new Failing() {
            @Override
            protected MemorySegment destination(int length) {
                throw new Undescribed();
            }
        };
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            assertThat(client.tryCall(MemorySegment.ofArray(new byte[8]), 8, LONG_NS, call))
                    .isTrue();
            server.receive(LONG).reply(new byte[1]);
            assertThat(call.failed).succeedsWithin(LONG);
            session.close();
        }
    }

    /** Likewise. */
    @SuppressWarnings("NullAway")
    @Test
    void aCallWhoseConnectionEndsFailsAlsoIfThereIsNoMemoryToSayWhy() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            Failing call = new Failing();
            assertThat(client.tryCall(MemorySegment.ofArray(new byte[8]), 8, LONG_NS, call))
                    .isTrue();
            Peer peer = Objects.requireNonNull(usedSlots(cluster, 0, 1).getFirst().peer);
            PostedCalls posted = engine(cluster, 0).postedCalls();
            Object usual = Inside.field(posted, "requests", RpcRequests.class);
            Inside.set(posted, "requests", null);
            peer.endpoint().close();
            assertThat(call.failed).succeedsWithin(LONG);
            Inside.set(posted, "requests", usual);
            session.close();
        }
    }

    private interface Calls {
        /** Makes a call with a reply of {@link #LONG_REPLY}, which fails. */
        void make(RpcServer server, FunctionClient client);
    }

    private static void callWithoutThread(RpcServer server, FunctionClient client, Failing call) {
        assertThat(client.tryCall(MemorySegment.ofArray(new byte[8]), LONG_REPLY, LONG_NS, call))
                .isTrue();
        server.receive(LONG).reply(new byte[LONG_REPLY]);
        assertThat(call.failed).succeedsWithin(LONG).isInstanceOf(RpcFailedException.class);
    }

    @Test
    void oneThatIsLongKeepsNoSlotOfItsServerIfNoThreadWaitsForIt() {
        withoutMemory((server, client) -> callWithoutThread(server, client, new Failing()));
    }

    @Test
    void oneThatIsLongFailsAndKeepsNoSlotOfItsServerIfThereIsNoThreadForIt() {
        withoutMemory((server, client) -> callWithoutThread(server, client, new FailingAlone()));
    }

    @Test
    void oneThatIsLongKeepsNoSlotOfItsServerIfAThreadWaitsForIt() {
        withoutMemory((server, client) -> {
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            Thread unused = Thread.ofPlatform().daemon().start(() -> {
                try {
                    byte[] reply = client.call(new byte[8], LONG);
                    thrown.completeExceptionally(new AssertionError("a reply of %d bytes".formatted(reply.length)));
                } catch (Throwable e) {
                    thrown.complete(e);
                }
            });
            server.receive(LONG).reply(new byte[LONG_REPLY]);
            assertThat(thrown).succeedsWithin(LONG).isInstanceOf(OutOfMemoryError.class);
        });
    }

    private void withoutMemory(Calls calls) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            engine(cluster, 0).caller().memory = length -> {
                throw new OutOfMemoryError("on purpose");
            };

            calls.make(server, client);

            Waits.until("the slot of the call is free", () -> slots(cluster, 0, 1) == 0);
            Waits.until("the slot of the reply is free", () -> slots(cluster, 1, 0) == 0);
            session.close();
        }
    }

    private interface Received {
        /** The slot has a call that the server has received, and nobody may end the call any more. */
        void with(TestCluster cluster, RpcSlot slot, CompletableFuture<byte[]> call);
    }

    private void withoutCall(Duration deadline, Received received) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            CompletableFuture<byte[]> call = client.callAsync(new byte[8], deadline);
            assertThat(server.receive(LONG)).isNotNull();
            RpcSlot slot = usedSlots(cluster, 0, 1).getFirst();
            assertThat(slot.takePosted(slot.callId)).isNotNull();

            received.with(cluster, slot, call);

            Waits.until("the slot of the call is free", () -> slots(cluster, 0, 1) == 0);
            session.close();
        }
    }

    /** Else its future is never complete, and a sweep looks for it once in a millisecond for ever. */
    @Test
    void anAsynchronousCallWhoseEndIsLostByAnErrorFailsAfterItsDeadline() {
        withoutCall(Waits.seconds(3), (cluster, slot, call) -> {
            assertThat(call).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(LiteTimeoutException.class);
            slot.giveBack();
        });
    }

    /** Else its slot comes back only with the end of the connection. */
    @Test
    void oneThatIsLongAndLateAndForWhichThereIsNoThreadEndsTheQuarantineOfItsSlot() {
        withoutCall(LONG, (cluster, slot, call) -> {
            RpcReplies replies = Inside.field(engine(cluster, 0), "replies", RpcReplies.class);
            Object usual = Inside.field(replies, "later", Predicate.class);
            Predicate<Runnable> noMemory = task -> {
                throw new OutOfMemoryError("on purpose");
            };
            slot.state(RpcSlot.ABANDONED);
            RawMemory.putLong(slot.replyAddress + RpcWire.REPLY_CALL_ID, slot.callId);
            RawMemory.putInt(slot.replyAddress + RpcWire.REPLY_STATUS, RpcWire.REPLY_ELSEWHERE);
            Inside.set(replies, "later", noMemory);
            assertThatThrownBy(() -> replies.arrived(Objects.requireNonNull(slot.peer), slot.index))
                    .isInstanceOf(OutOfMemoryError.class);
            Inside.set(replies, "later", usual);
        });
    }

    /** Else its slot comes back only with the end of the connection. */
    @Test
    void aCallThatCannotWaitForItsBusyConnectionFailsAndKeepsNoSlot() {
        SimulatedNetwork network =
                new SimulatedNetwork(SimulatedOptions.seeded(1).withQueueDepth(8));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            network.pause("n1");
            MemorySegment request = MemorySegment.ofArray(new byte[8]);
            int posted = 0;
            Failing last;
            do {
                last = new FailingAlone();
                assertThat(client.tryCall(request, 8, LONG_NS, last)).isTrue();
            } while (!last.failed.isDone() && ++posted < RpcSlots.SMALL_MAX / 2);
            assertThat(last.failed).isCompletedWithValueMatching(RpcFailedException.class::isInstance);

            network.resume("n1");

            for (int call = 0; call < posted; call++) {
                server.receive(LONG).reply(new byte[1]);
            }
            Waits.until("the slots of the calls are free", () -> slots(cluster, 0, 1) == 0);
            session.close();
        }
    }

    /** Else the slot of such a reply comes back only with the end of the connection. */
    @ParameterizedTest
    @ValueSource(ints = {1, LONG_REPLY})
    void oneThatFindsABusyConnectionAndNoThreadKeepsNoSlotAndTheCallCanBeAnsweredAgain(int bytes) {
        SimulatedNetwork network =
                new SimulatedNetwork(SimulatedOptions.seeded(1).withQueueDepth(8));
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            List<CompletableFuture<byte[]>> replies = new ArrayList<>();
            List<ReceivedCall> calls = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                replies.add(client.callAsync(new byte[8], LONG));
                calls.add((ReceivedCall) server.receive(LONG));
            }
            Object sender = Inside.field(engine(cluster, 1), "replies", RpcReplies.class);
            Object usual = Inside.field(sender, "later", Predicate.class);
            Predicate<Runnable> noMemory = task -> {
                throw new OutOfMemoryError("on purpose");
            };
            Inside.set(sender, "later", noMemory);
            MemorySegment reply = MemorySegment.ofArray(new byte[bytes]);
            network.pause("n0");
            List<ReceivedCall> unanswered =
                    calls.stream().filter(call -> !isAnswered(call, reply)).toList();
            network.resume("n0");
            Inside.set(sender, "later", usual);

            assertThat(unanswered).as("replies to a busy connection").isNotEmpty();
            unanswered.forEach(call -> call.reply(reply));
            assertThat(replies)
                    .allSatisfy(one -> assertThat(one).succeedsWithin(LONG).isEqualTo(new byte[bytes]));
            Waits.until("the slots of the replies are free", () -> replySlots(cluster, 1) == 0);
            session.close();
        }
    }

    /** Else the slot of such a reply never comes back while the connection lasts. */
    @ParameterizedTest
    @ValueSource(ints = {1, LONG_REPLY})
    void oneThatCannotBePostedKeepsNoSlotAndTheCallCanBeAnsweredAgain(int bytes) {
        withReceivedCall(LONG, (call, peer, endpoint, reply) -> {
            MemorySegment message = MemorySegment.ofArray(new byte[bytes]);
            for (int i = 0; i < 2; i++) {
                Inside.set(peer, "endpoint", failing(endpoint, 0));
                assertThatThrownBy(() -> call.reply(message)).isInstanceOf(OutOfMemoryError.class);
                assertThatThrownBy(() -> call.tryReply(message, false)).isInstanceOf(OutOfMemoryError.class);
            }
            Inside.set(peer, "endpoint", endpoint);
            call.reply(message);
            assertThat(reply).succeedsWithin(LONG).isEqualTo(new byte[bytes]);
        });
    }

    /** Else neither its slot nor the caller's comes back while the connection lasts. */
    @ParameterizedTest
    @ValueSource(ints = {1, LONG_REPLY})
    void oneThatCannotBePostedByTheThreadThatWaitsForABusyConnectionKeepsNoSlotAndItsCallCanBeCancelled(int bytes) {
        withReceivedCall(Waits.seconds(1), (call, peer, endpoint, reply) -> {
            Inside.set(peer, "endpoint", failing(endpoint, 3));
            assertThat(call.tryReply(MemorySegment.ofArray(new byte[bytes]), false))
                    .isTrue();
            Waits.until("it was given up", () -> !call.isAnswered());
            Inside.set(peer, "endpoint", endpoint);
            assertThat(reply).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(LiteTimeoutException.class);
        });
    }

    /** Else it would post again and again for seconds, without a pause. */
    @ParameterizedTest
    @ValueSource(ints = {1, LONG_REPLY})
    void oneOfAnInterruptedThreadWaitsForABusyConnectionOnAnotherThread(int bytes) {
        withReceivedCall(LONG, (call, peer, endpoint, reply) -> {
            Inside.set(peer, "endpoint", failing(endpoint, 1_000_000)); // as many with pauses take a minute
            Thread.currentThread().interrupt();
            Throwable failure = catchThrowable(() -> call.reply(MemorySegment.ofArray(new byte[bytes])));
            assertThat(Thread.interrupted()).isTrue();
            assertThat(failure).isNull();
            Inside.set(peer, "endpoint", endpoint);
            assertThat(reply).succeedsWithin(LONG).isEqualTo(new byte[bytes]);
        });
    }

    interface Answers {
        void give(ReceivedCall call, Peer caller, FabricEndpoint endpoint, CompletableFuture<byte[]> reply);
    }

    private void withReceivedCall(Duration deadline, Answers answers) {
        withReceivedCall(root, deadline, answers);
    }

    static void withReceivedCall(Path root, Duration deadline, Answers answers) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            FunctionClient client = withRing(session, server);
            CompletableFuture<byte[]> reply = client.callAsync(new byte[8], deadline);
            ReceivedCall call = (ReceivedCall) server.receive(LONG);
            Peer caller = Objects.requireNonNull(call.ring).peer;

            answers.give(call, caller, caller.endpoint(), reply);

            Waits.until("the slot of the reply is free", () -> replySlots(cluster, 1) == 0);
            Waits.until("the slot of the call is free", () -> slots(cluster, 0, 1) == 0);
            session.close();
        }
    }

    /** An endpoint whose posts of immediates are busy so often, and then fail. */
    static FabricEndpoint failing(FabricEndpoint endpoint, int busy) {
        AtomicInteger left = new AtomicInteger(busy);
        return posting(endpoint, () -> {
            if (left.getAndDecrement() > 0) {
                return Post.BUSY;
            }
            throw new OutOfMemoryError("on purpose");
        });
    }

    /** An endpoint with such posts of immediates. */
    static FabricEndpoint posting(FabricEndpoint endpoint, Supplier<Post> post) {
        return (FabricEndpoint) Proxy.newProxyInstance(
                FabricEndpoint.class.getClassLoader(),
                new Class<?>[] {FabricEndpoint.class},
                (self, method, args) ->
                        method.getName().startsWith("writeImm") ? post.get() : method.invoke(endpoint, args));
    }

    /** The slots of a node that have a reply for another one. */
    private static long replySlots(TestCluster cluster, int node) {
        RpcSlots slots = Inside.field(engine(cluster, node), "slots", RpcSlots.class);
        return IntStream.iterate(0, RpcSlots::isIndex, index -> index + 1)
                .mapToObj(slots::get)
                .filter(slot -> slot != null && (slot.state() == RpcSlot.SENDING || slot.state() == RpcSlot.OFFERED))
                .count();
    }

    private static boolean isAnswered(ReceivedCall call, MemorySegment reply) {
        try {
            return call.tryReply(reply, false);
        } catch (OutOfMemoryError busy) {
            return false;
        }
    }

    private static RpcEngine engine(TestCluster cluster, int node) {
        return Inside.field(cluster.node(node), "rpc", RpcEngine.class);
    }

    /** How many slots a node uses for another one. */
    private static int slots(TestCluster cluster, int node, int other) {
        return usedSlots(cluster, node, other).size();
    }

    static List<RpcSlot> usedSlots(TestCluster cluster, int node, int other) {
        List<RpcSlot> found = new ArrayList<>();
        Peer peer = Inside.field(cluster.node(node), "links", PeerLinks.class).peer(other);
        Inside.field(engine(cluster, node), "slots", RpcSlots.class)
                .forEachOf(Objects.requireNonNull(peer), found::add);
        return found;
    }
}
