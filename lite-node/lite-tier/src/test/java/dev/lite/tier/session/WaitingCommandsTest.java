package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteException.Code;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Inside;
import dev.lite.testing.Undescribed;
import dev.lite.testing.Waits;
import dev.lite.tier.FairShares;
import dev.lite.tier.TierSession;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.rpc.PostedReceive;
import dev.lite.tier.session.RpcCommands.Command;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls and receives of an attached application that wait without a thread: what ends them, and who may touch its memory. */
class WaitingCommandsTest {
    private static final Duration GENEROUS = Waits.scaled(Duration.ofSeconds(15));
    private static final long FOR_LONG = TimeUnit.HOURS.toNanos(1);
    private static final int SLOTS = 8;
    private static final int WINDOW = 4096;
    private static final byte UNTOUCHED = 0x55;

    @TempDir(factory = InDevShm.class)
    Path directory;

    private final FakeSlots slots = new FakeSlots();
    private TestCluster cluster;
    private LiteNode here;
    private Lite other;
    private TierSession session;
    private RpcCommands commands;
    private boolean noThread;

    /** Slots in this JVM's memory. It counts how often a slot is completed and can hold the thread that completes one. */
    private static final class FakeSlots implements RpcCommands.Slots, AutoCloseable {
        final Arena arena = Arena.ofShared();
        final MemorySegment windows = arena.allocate((long) SLOTS * WINDOW, 64);
        final Map<Integer, List<Integer>> statuses = new ConcurrentHashMap<>();
        final Map<Integer, Long> results = new ConcurrentHashMap<>();
        final Map<Integer, Long> calls = new ConcurrentHashMap<>();
        final Map<Integer, Integer> further = new ConcurrentHashMap<>();
        final CountDownLatch completing = new CountDownLatch(1);
        volatile @Nullable CountDownLatch hold;
        final AtomicInteger errors = new AtomicInteger();
        final AtomicInteger errorsOfReceives = new AtomicInteger();
        volatile Error error = new StackOverflowError("on purpose");
        volatile boolean noMemoryForErrors;
        volatile boolean waits;

        @Override
        public long window(int slot) {
            if (errors.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                throw error;
            }
            return windows.address() + (long) slot * WINDOW;
        }

        MemorySegment windowOf(int slot) {
            return windows.asSlice((long) slot * WINDOW, WINDOW);
        }

        @Override
        public int windowBytes() {
            return WINDOW;
        }

        @Override
        public void complete(int slot, int status, long result) {
            CountDownLatch latch = hold;
            if (latch != null) {
                completing.countDown();
                try {
                    assertThat(latch.await(GENEROUS.toMillis(), TimeUnit.MILLISECONDS))
                            .isTrue();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            results.put(slot, result);
            statuses.computeIfAbsent(slot, any -> new CopyOnWriteArrayList<>()).add(status);
        }

        @Override
        public void fail(int slot, LiteException error) {
            if (noMemoryForErrors) {
                throw new OutOfMemoryError("on purpose");
            }
            complete(
                    slot,
                    error.code().number(),
                    String.valueOf(error.getMessage()).length());
        }

        @Override
        public void received(int slot, long call, long origin, int contextBytes, int replyBytesMax) {
            if (errorsOfReceives.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                throw new StackOverflowError("on purpose");
            }
            calls.put(slot, call);
        }

        @Override
        public void received(int slot, int its) {
            further.put(slot, its);
        }

        @Override
        public void waitsUntil(long deadlineNs) {
            waits = true;
        }

        List<Integer> statuses(int slot) {
            return List.copyOf(statuses.getOrDefault(slot, List.of()));
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    @BeforeEach
    void start() {
        cluster = new TestCluster(directory, new ShmFabricProvider()).start(2);
        here = cluster.node(0);
        other = cluster.attach(1);
        session = here.open("app", "test");
        commands = new RpcCommands(
                "test",
                session,
                new SessionLocks(session.sync()),
                this::waitForLock,
                new RepeatedLines(10, Duration.ofSeconds(10)),
                new FairShares(8).share("app"));
    }

    @AfterEach
    void stop() {
        commands.end(System.nanoTime() + GENEROUS.toNanos());
        session.close();
        other.close();
        cluster.close();
        slots.close();
    }

    private void waitForLock(Runnable task) {
        if (noThread) {
            throw new OutOfMemoryError("unable to create native thread, on purpose");
        }
        task.run();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private boolean start(int slot, int op, long id, long length, long operand, long timeoutNs) {
        return commands.start(new Command(slot, op, id, 0, length, operand, 0, timeoutNs, false), slots);
    }

    private void awaitStatus(int slot, int count) {
        Waits.until(
                "slot %d is completed".formatted(slot),
                () -> slots.statuses(slot).size() == count);
    }

    /** Opens a client of a function of the other node and makes one call, so that later ones find a binding. */
    private long boundClient(RpcServer server) {
        long id = commands.opened().open(RpcKind.CLIENT, "n1", server.function());
        assertThat(start(0, Op.CALL, id, 3, WINDOW, FOR_LONG)).isTrue();
        server.receive(GENEROUS).reply(bytes("first"));
        awaitStatus(0, 1);
        assertThat(slots.statuses(0)).containsExactly(0);
        slots.statuses.clear();
        slots.waits = false;
        slots.windows.fill(UNTOUCHED);
        return id;
    }

    private boolean isUntouched(int slot) {
        byte[] window = slots.windowOf(slot).toArray(ValueLayout.JAVA_BYTE);
        byte[] expected = new byte[WINDOW];
        Arrays.fill(expected, UNTOUCHED);
        return Arrays.equals(window, expected);
    }

    private void endsNow() {
        assertThat(commands.end(System.nanoTime() + GENEROUS.toNanos())).isTrue();
    }

    @Test
    void aFailureThatCouldNotBeSentInTimeLeavesItsCallUnanswered() {
        AtomicInteger tries = new AtomicInteger();
        RpcCall call = (RpcCall) Proxy.newProxyInstance(
                RpcCall.class.getClassLoader(), new Class<?>[] {RpcCall.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("fail") && tries.incrementAndGet() == 1) {
                        throw new LiteTimeoutException("no slot for the answer was free");
                    }
                    return null;
                });
        long number = commands.received().add(call);
        start(1, Op.FAIL, 0, 0, number, FOR_LONG);
        awaitStatus(1, 1);
        start(1, Op.FAIL, 0, 0, number, FOR_LONG);
        awaitStatus(1, 2);
        assertThat(slots.statuses(1)).containsExactly(Code.TIMEOUT.number(), 0);
        assertThat(tries).hasValue(2);
    }

    /** Else its slot is never completed, and the end of the session waits for it. */
    @Test
    void aCommandWhoseStartMeetsAnErrorFailsAndTheNextOneWorks() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        slots.errors.set(1);
        assertThat(start(1, Op.CALL, id, 8, WINDOW, FOR_LONG)).isTrue();
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        assertThat(start(1, Op.CALL, id, 8, WINDOW, FOR_LONG)).isTrue();
        server.receive(GENEROUS).reply(bytes("reply"));
        awaitStatus(1, 2);
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number(), 0);
        endsNow();
    }

    /** Likewise. */
    @Test
    void aCommandWhoseStartMeetsAnErrorFailsAlsoIfThereIsNoMemoryToSayWhy() {
        long id = boundClient(other.rpc().serve("f"));
        slots.error = new Undescribed();
        slots.errors.set(1);
        assertThat(start(1, Op.CALL, id, 8, WINDOW, FOR_LONG)).isTrue();
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        endsNow();
    }

    /** Likewise. */
    @SuppressWarnings("NullAway")
    @Test
    void aCallFailsAtItsDeadlineAlsoIfThereIsNoMemoryToSaySo() {
        long id = boundClient(other.rpc().serve("f"));
        OpenedFunctions.OpenClient open = (OpenedFunctions.OpenClient)
                Objects.requireNonNull(commands.opened().find(id));
        String function = open.client().function();
        assertThat(start(1, Op.CALL, id, 8, WINDOW, FOR_LONG)).isTrue();
        Inside.set(open.client(), "function", null);
        assertThat(commands.endOverdue(System.nanoTime() + FOR_LONG)).isPositive();
        Inside.set(open.client(), "function", function);
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        endsNow();
    }

    @Test
    void aReceiveThatMeetsAnErrorBeforeItBeginsFailsAndItsSlotTakesTheNextCommand() {
        PostedReceive.Server failing = (PostedReceive.Server) Proxy.newProxyInstance(
                PostedReceive.Server.class.getClassLoader(),
                new Class<?>[] {PostedReceive.Server.class},
                (proxy, method, arguments) -> {
                    throw new StackOverflowError("on purpose");
                });
        @SuppressWarnings("unchecked")
        Map<Long, Object> opened = Inside.field(commands.opened(), "opened", Map.class);
        opened.put(77L, new OpenedFunctions.OpenServer(failing));
        for (int i = 1; i <= 2; i++) {
            assertThat(start(1, Op.RECEIVE, 77, 0, 0, FOR_LONG)).isTrue();
            assertThat(slots.statuses(1)).hasSize(i).containsOnly(Code.RPC_FAILED.number());
        }
        opened.remove(77L);
        endsNow();
    }

    /** Else the session's thread would no longer poll for what its commands wait for. */
    @Test
    void aWaitForALockThatFoundNoThreadCountsNoLonger() {
        noThread = true;
        assertThat(start(1, Op.LOCK, 1, 0, 1, FOR_LONG)).isTrue();
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        long id = commands.opened().open(RpcKind.SERVER, "n0", "g");
        start(2, Op.RECEIVE, id, 0, 0, FOR_LONG);
        assertThat(commands.isRunning()).isTrue();
        endsNow();
    }

    @Test
    void aReceiveThatMeetsAnErrorWhenItsCallComesFailsTogetherWithTheCall() {
        long id = commands.opened().open(RpcKind.SERVER, "n0", "g");
        slots.errorsOfReceives.set(1);
        start(1, Op.RECEIVE, id, 0, 0, FOR_LONG);
        CompletableFuture<byte[]> failing = other.rpc().callAsync("n0", "g", bytes("x"), GENEROUS.multipliedBy(4));
        awaitStatus(1, 1);
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        assertThat(failing).failsWithin(GENEROUS).withThrowableOfType(ExecutionException.class);

        start(1, Op.RECEIVE, id, 0, 0, FOR_LONG);
        CompletableFuture<byte[]> served = other.rpc().callAsync("n0", "g", bytes("x"), GENEROUS);
        awaitStatus(1, 2);
        start(2, Op.REPLY, 0, 0, Objects.requireNonNull(slots.calls.get(1)), FOR_LONG);
        assertThat(served).succeedsWithin(GENEROUS);
        endsNow();
    }

    @Test
    void aReplyEndsAWaitingCallWithoutAThread() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        for (int i = 1; i <= 3; i++) {
            assertThat(start(1, Op.CALL, id, 8, WINDOW, FOR_LONG)).isTrue();
            assertThat(slots.waits).isTrue();
            server.receive(GENEROUS).reply(bytes("reply"));
            awaitStatus(1, i);
        }
        assertThat(slots.statuses(1)).containsOnly(0);
        assertThat(slots.results).containsEntry(1, 5L);
        assertThat(slots.windowOf(1).asSlice(0, 5).toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(bytes("reply"));
    }

    @Test
    void aSessionThatEndsWhileItsCallWaitsDropsTheLateReply() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        RpcCall call = server.receive(GENEROUS);
        endsNow();
        assertThat(slots.statuses(1)).containsExactly(Code.SESSION_LOST.number());
        call.reply(bytes("too late"));
        // A later call of the same node has its reply behind the late one.
        assertAnswered(server);
        assertThat(slots.statuses(1)).hasSize(1);
        assertThat(isUntouched(1)).isTrue();
    }

    private void assertAnswered(RpcServer server) {
        try (Lite lite = here.attach("app")) {
            CompletableFuture<byte[]> reply = lite.rpc().callAsync("n1", server.function(), bytes("x"), GENEROUS);
            server.receive(GENEROUS).reply(bytes("y"));
            assertThat(reply.join()).asString().isEqualTo("y");
        }
    }

    @Test
    void aSessionThatEndsWhileItsReceiveWaitsTakesNoCallAnyMore() {
        long id = commands.opened().open(RpcKind.SERVER, "n0", "g");
        start(1, Op.RECEIVE, id, 0, 0, FOR_LONG);
        assertThat(slots.waits).isTrue();
        slots.windows.fill(UNTOUCHED);
        endsNow();
        assertThat(slots.statuses(1)).containsExactly(Code.SESSION_LOST.number());
        assertThatThrownBy(() -> other.rpc().call("n0", "g", bytes("x"), GENEROUS))
                .isInstanceOf(RpcFailedException.class);
        assertThat(slots.statuses(1)).hasSize(1);
        assertThat(isUntouched(1)).isTrue();
    }

    @Test
    void theMemoryStaysMappedWhileAReplyIsDelivered() throws InterruptedException {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        CountDownLatch release = new CountDownLatch(1);
        slots.hold = release;
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        server.receive(GENEROUS).reply(bytes("reply"));
        assertThat(slots.completing.await(GENEROUS.toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        // The thread that polls the fabric is between the copy and the end of the command.
        assertThat(commands.end(System.nanoTime())).isFalse();
        commands.endOverdue(System.nanoTime() + 2 * FOR_LONG); // too late for the deadline
        assertThat(slots.statuses(1)).isEmpty();
        release.countDown();
        endsNow();
        assertThat(slots.statuses(1)).containsExactly(0);
    }

    @Test
    void theMemoryStaysMappedWhileACallIsReceivedAndThatCallFails() throws InterruptedException {
        long id = commands.opened().open(RpcKind.SERVER, "n0", "g");
        CountDownLatch release = new CountDownLatch(1);
        slots.hold = release;
        start(1, Op.RECEIVE, id, 0, 0, FOR_LONG);
        CompletableFuture<byte[]> reply = other.rpc().callAsync("n0", "g", bytes("x"), GENEROUS);
        assertThat(slots.completing.await(GENEROUS.toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        assertThat(commands.end(System.nanoTime())).isFalse();
        release.countDown();
        endsNow();
        assertThat(slots.statuses(1)).containsExactly(0);
        assertThatThrownBy(reply::join).cause().isInstanceOf(RpcFailedException.class);
    }

    @Test
    void theSweepEndsACallOverItsDeadlineAndDropsItsLateReply() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        RpcCall call = server.receive(GENEROUS);
        assertThat(commands.endOverdue(System.nanoTime())).isBetween(FOR_LONG / 2, FOR_LONG);
        assertThat(slots.statuses(1)).isEmpty();
        commands.endOverdue(System.nanoTime() + 2 * FOR_LONG);
        assertThat(slots.statuses(1)).containsExactly(Code.TIMEOUT.number());
        call.reply(bytes("too late"));
        assertAnswered(server);
        assertThat(slots.statuses(1)).hasSize(1);
        assertThat(isUntouched(1)).isTrue();
    }

    @Test
    void theSweepEndsAReceiveOverItsDeadlineAndItsCallGoesToTheNext() {
        long id = commands.opened().open(RpcKind.SERVER, "n0", "g");
        start(1, Op.RECEIVE, id, 0, 0, FOR_LONG);
        commands.endOverdue(System.nanoTime() + 2 * FOR_LONG);
        assertThat(slots.statuses(1)).containsExactly(Code.TIMEOUT.number());
        CompletableFuture<byte[]> reply = other.rpc().callAsync("n0", "g", bytes("abc"), GENEROUS);
        start(2, Op.RECEIVE, id, 0, 0, FOR_LONG);
        awaitStatus(2, 1);
        assertThat(slots.results).containsEntry(2, 3L);
        assertThat(slots.statuses(1)).hasSize(1);
        start(2, Op.REPLY_AND_RECEIVE, id, 2, Objects.requireNonNull(slots.calls.get(2)), FOR_LONG);
        assertThat(reply.join()).asString().isEqualTo("ab");
        assertThat(slots.statuses(2)).hasSize(1); // the receive waits
    }

    /** Else an application with many short timeouts delays those of the others. */
    @Test
    void aSweepEndsFewCommandsOfASessionAndTheNextOneThoseThatItLeft() {
        long id = commands.opened().open(RpcKind.SERVER, "n0", "g");
        for (int slot = 0; slot < SLOTS; slot++) {
            start(slot, Op.RECEIVE, id, 0, 0, FOR_LONG);
        }
        long late = System.nanoTime() + 2 * FOR_LONG;
        assertThat(commands.endOverdue(late)).as("more are overdue").isZero();
        assertThat(slots.statuses).hasSize(SLOTS / 2);
        for (int slot : List.copyOf(slots.statuses.keySet())) {
            start(slot, Op.RECEIVE, id, 0, 0, FOR_LONG);
        }
        assertThat(commands.endOverdue(late)).as("those that began again").isZero();
        assertThat(slots.statuses)
                .hasSize(SLOTS)
                .allSatisfy((slot, ends) -> assertThat(ends).containsExactly(Code.TIMEOUT.number()));
    }

    @Test
    void aTimeoutThatHasPassedWhenItsWaitBeginsNeedsNoSweep() {
        RpcServer server = other.rpc().serve("f");
        long client = boundClient(server);
        start(1, Op.CALL, client, 8, WINDOW, 1);
        long served = commands.opened().open(RpcKind.SERVER, "n0", "g");
        start(2, Op.RECEIVE, served, 0, 0, 1);
        awaitStatus(1, 1);
        awaitStatus(2, 1);
        assertThat(slots.statuses(1)).containsExactly(Code.TIMEOUT.number());
        assertThat(slots.statuses(2)).containsExactly(Code.TIMEOUT.number());
        assertThat(slots.waits).isFalse();
        Waits.until("no command is under way", () -> !commands.isRunning());
    }

    @Test
    void aConnectionThatBreaksFailsAWaitingCallOnce() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        RpcCall call = server.receive(GENEROUS);
        assertThat(call.request().byteSize()).isEqualTo(8);
        cluster.node(1).close();
        awaitStatus(1, 1);
        assertThat(slots.statuses(1)).doesNotContain(0);
        endsNow();
        assertThat(slots.statuses(1)).hasSize(1);
    }

    /** As after an answer with a ring that does not lie in the arena of the server's node. */
    @Test
    void aCallWhosePostFailsEndsOnceAlsoIfItsConnectionBreaksLater() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        OpenedFunctions.OpenClient open = (OpenedFunctions.OpenClient)
                Objects.requireNonNull(commands.opened().find(id));
        Object binding = Inside.field(open.client(), "binding", Object.class);
        start(2, Op.CALL, id, 8, WINDOW, FOR_LONG);
        Inside.set(binding, "ringOffset", Long.MAX_VALUE / 2);
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        cluster.node(1).close();
        awaitStatus(2, 1);
        endsNow();
        assertThat(slots.statuses(1)).hasSize(1);
        assertThat(slots.statuses(2)).hasSize(1);
        assertThat(commands.isRunning()).isFalse();
    }

    @Test
    void aClosedServerEndsItsWaitingReceivesAndLeavesThoseOfOthers() {
        long first = commands.opened().open(RpcKind.SERVER, "n0", "g");
        long second = commands.opened().open(RpcKind.SERVER, "n0", "g");
        start(1, Op.RECEIVE, first, 0, 0, FOR_LONG);
        start(2, Op.RECEIVE, second, 0, 0, FOR_LONG);
        commands.opened().close(first);
        assertThat(slots.statuses(1)).containsExactly(Code.SESSION_LOST.number());
        assertThat(slots.statuses(2)).isEmpty();
        CompletableFuture<byte[]> reply = other.rpc().callAsync("n0", "g", bytes("abc"), GENEROUS);
        awaitStatus(2, 1);
        start(2, Op.REPLY, second, 1, Objects.requireNonNull(slots.calls.get(2)), FOR_LONG);
        assertThat(reply.join()).asString().isEqualTo("a");
    }

    @Test
    void aReceiveLearnsOfAChannelThatCameWhileAnotherServerWasClosed() {
        long first = commands.opened().open(RpcKind.SERVER, "n0", "g");
        long second = commands.opened().open(RpcKind.SERVER, "n0", "g");
        start(1, Op.RECEIVE, first, 0, 0, FOR_LONG);
        start(2, Op.RECEIVE, second, 0, 0, FOR_LONG);
        CountDownLatch release = new CountDownLatch(1);
        slots.hold = release;
        CompletableFuture<Void> closing =
                CompletableFuture.runAsync(() -> commands.opened().close(first), Thread::startVirtualThread);
        Waits.await(slots.completing); // of the first server's receive; that of the second one follows
        commands.channels(second, true);
        release.countDown();
        closing.join();
        awaitStatus(2, 1);
        assertThat(slots.statuses(2)).containsExactly(Code.TIMEOUT.number());
    }

    @Test
    void aSlotHasOneCommandAtATime() {
        long id = commands.opened().open(RpcKind.SERVER, "n0", "g");
        assertThat(start(1, Op.RECEIVE, id, 0, 0, FOR_LONG)).isTrue();
        assertThat(start(1, Op.RECEIVE, id, 0, 0, FOR_LONG)).isFalse();
        assertThat(start(2, Op.RECEIVE, id, 0, 0, FOR_LONG)).isTrue();
    }

    @Test
    void aLongRequestAndALongReplyReachTheirWindows() {
        RpcServer server = other.rpc().serve("f");
        long client = boundClient(server);
        slots.windowOf(1).asSlice(0, WINDOW).fill((byte) 7);
        start(1, Op.CALL, client, WINDOW, WINDOW, FOR_LONG);
        RpcCall call = server.receive(GENEROUS);
        assertThat(call.request().toArray(ValueLayout.JAVA_BYTE))
                .hasSize(WINDOW)
                .containsOnly(7);
        call.reply(new byte[WINDOW]);
        awaitStatus(1, 1);
        assertThat(slots.windowOf(1).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
        long served = commands.opened().open(RpcKind.SERVER, "n0", "g");
        start(2, Op.RECEIVE, served, 0, 0, FOR_LONG);
        byte[] request = new byte[WINDOW];
        Arrays.fill(request, (byte) 9);
        CompletableFuture<byte[]> tooLong =
                other.rpc().callAsync("n0", "g", Arrays.copyOf(request, WINDOW + 1), GENEROUS);
        assertThatThrownBy(tooLong::join).cause().hasMessageContaining("at most 4096");
        CompletableFuture<byte[]> reply = other.rpc().callAsync("n0", "g", request, GENEROUS);
        awaitStatus(2, 1);
        assertThat(slots.windowOf(2).toArray(ValueLayout.JAVA_BYTE)).containsOnly(9);
        start(2, Op.REPLY, served, WINDOW, Objects.requireNonNull(slots.calls.get(2)), FOR_LONG);
        assertThat(reply.join()).hasSize(WINDOW).containsOnly(9);
    }

    @Test
    void aCallToTheOwnNodeIsHandedFromSlotToSlot() {
        long served = commands.opened().open(RpcKind.SERVER, "n0", "g");
        long client = commands.opened().open(RpcKind.CLIENT, "n0", "g");
        for (int i = 1; i <= 3; i++) {
            start(1, Op.RECEIVE, served, 0, 0, FOR_LONG);
            start(2, Op.CALL, client, 4, WINDOW, FOR_LONG);
            awaitStatus(1, i);
            start(3, Op.REPLY, served, 2, Objects.requireNonNull(slots.calls.get(1)), FOR_LONG);
            awaitStatus(2, i);
        }
        assertThat(slots.statuses(2)).containsExactly(0, 0, 0);
        assertThat(slots.results).containsEntry(2, 2L);
    }

    /** Else the application would never get its slot back. */
    @Test
    void aCallForWhoseErrorThereIsNoMemoryFailsAllTheSame() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        slots.noMemoryForErrors = true;
        server.receive(GENEROUS).fail("no");
        awaitStatus(1, 1);
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        assertThat(slots.results).containsEntry(1, 0L);
        slots.noMemoryForErrors = false;
    }

    @Test
    void theReasonOfARefusalReachesTheCaller() {
        RpcServer server = other.rpc().serve("f");
        long id = boundClient(server);
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        server.receive(GENEROUS).fail("no");
        awaitStatus(1, 1);
        assertThat(slots.statuses(1)).containsExactly(Code.RPC_FAILED.number());
        server.close();
        start(1, Op.CALL, id, 8, WINDOW, FOR_LONG);
        awaitStatus(1, 2);
        assertThat(slots.statuses(1)).containsOnly(Code.RPC_FAILED.number());
        assertThatThrownBy(() -> commands.received().origin(1, 77)).isInstanceOf(LiteException.class);
    }
}
