package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.run;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeNode;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.session.protocol.SessionMessage.Memset;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.Unmap;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The data path of a session: transfers, timeouts and their slots, the loss of the node. */
class SessionDataTest {
    private static LmrHandle map(SessionFixture fixture) {
        return fixture.lite.memory().map("table", Permission.READ, Permission.WRITE, Permission.ATOMIC);
    }

    private static CompletableFuture<Boolean> startRead(LmrHandle handle) {
        return run(() -> handle.read(0, new byte[8]));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, FakeNode.WINDOW_BYTES, FakeNode.WINDOW_BYTES + 1, 5 * FakeNode.WINDOW_BYTES + 7})
    void bytesOfEveryLengthAreTransferred(int length) throws IOException {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        try (SessionFixture fixture = new SessionFixture(LONG);
                Arena arena = Arena.ofConfined()) {
            LmrHandle handle = map(fixture);
            handle.write(3, bytes);
            byte[] read = new byte[length];
            handle.read(3, read);
            assertThat(read).isEqualTo(bytes);
            MemorySegment offHeap = arena.allocate(Math.max(1, length)).asSlice(0, length);
            handle.read(3, offHeap);
            assertThat(offHeap.mismatch(MemorySegment.ofArray(bytes))).isEqualTo(-1);
        }
    }

    @Test
    void atomicsReturnThePreviousValue() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            assertThat(handle.fetchAdd(8, 5)).isZero();
            assertThat(handle.testSet(8, 4, 1)).isEqualTo(5);
            assertThat(handle.testSet(8, 5, 1)).isEqualTo(5);
            assertThat(handle.fetchAdd(8, 0)).isEqualTo(1);
        }
    }

    @Test
    void aLongMemsetUsesTheControlChannelAndAShortOneDoesNot() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            handle.memset(1, 2, (byte) 7);
            byte[] read = new byte[4];
            handle.read(0, read);
            assertThat(read).containsExactly(0, 7, 7, 0);
            handle.memset(0, FakeNode.WINDOW_BYTES + 1, (byte) 0);
            assertThat(fixture.node.awaitRequest(Memset.class).length()).isEqualTo(FakeNode.WINDOW_BYTES + 1);
        }
    }

    @Test
    void theStatisticsCountLongAndShortMemsets() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            handle.memset(1, 2, (byte) 7);
            handle.memset(0, FakeNode.WINDOW_BYTES + 1, (byte) 0);
            assertThat(fixture.lite.statistics().operations())
                    .containsEntry(LiteStatistics.Kind.MEMSET, new LiteStatistics.Count(2, FakeNode.WINDOW_BYTES + 3));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void allSlicesOfAnOperationShareItsDeadline(boolean writes) throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            LmrHandle handle = map(fixture);
            LmrSlice slice = new LmrSlice(0, MemorySegment.ofArray(new byte[8]));
            List<LmrSlice> slices = List.of(slice, slice);
            fixture.node.holdCommands(op -> true);
            CompletableFuture<Boolean> operation = run(() -> {
                if (writes) {
                    handle.write(slices);
                } else {
                    handle.read(slices);
                }
            });
            for (int index = 0; index < slices.size() && !operation.isDone(); index++) {
                Command held = fixture.node.awaitHeldCommand();
                Waits.pass(SHORT.multipliedBy(6).dividedBy(10));
                fixture.node.complete(held, 0);
            }
            assertThatThrownBy(() -> await(operation)).isInstanceOf(LiteTimeoutException.class);
        }
    }

    @Test
    void anErrorOfTheNodeBecomesItsException() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            fixture.node.failCommands(LiteException.Code.LMR_UNAVAILABLE);
            assertThatThrownBy(() -> handle.read(0, new byte[8]))
                    .isInstanceOf(LmrUnavailableException.class)
                    .hasMessage("failed by the test");
            fixture.node.failCommands(null);
            handle.read(0, new byte[8]);
        }
    }

    @Test
    void theSlotOfACommandThatTimedOutIsReusedOnlyAfterItsCompletion() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            LmrHandle handle = map(fixture);
            fixture.node.holdCommands(op -> true);
            List<Command> held = new ArrayList<>();
            for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
                assertThatThrownBy(() -> handle.write(0, new byte[] {9}))
                        .isInstanceOf(LiteTimeoutException.class)
                        .hasMessageContaining("did not answer within the deadline");
                held.add(fixture.node.awaitHeldCommand());
            }
            assertThat(held).extracting(Command::slot).doesNotHaveDuplicates();
            assertThatThrownBy(() -> handle.write(0, new byte[1]))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("all slots of the session");

            fixture.node.complete(held.get(2), 0);

            CompletableFuture<Boolean> next = startRead(handle);
            Command reused = fixture.node.awaitHeldCommand();
            assertThat(reused.slot()).isEqualTo(held.get(2).slot());
            assertThat(reused.op()).isEqualTo(Op.READ);
            fixture.node.complete(reused, 0);
            assertThatThrownBy(() -> handle.write(0, new byte[1]))
                    .as("its command is held back, too")
                    .isInstanceOf(LiteTimeoutException.class);
            assertThat(next).isDone();
        }
    }

    @Test
    void aLongTransferThatFailsLeavesNoSlotBehind() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            fixture.node.failCommands(LiteException.Code.LMR_UNAVAILABLE);
            for (int i = 0; i < 3; i++) {
                assertThatThrownBy(() -> handle.write(0, new byte[10 * FakeNode.WINDOW_BYTES]))
                        .isInstanceOf(LmrUnavailableException.class);
                assertThatThrownBy(() -> handle.read(0, new byte[10 * FakeNode.WINDOW_BYTES]))
                        .isInstanceOf(LmrUnavailableException.class);
            }
            fixture.node.failCommands(null);
            fixture.node.holdCommands(op -> true);
            for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
                CompletableFuture<Boolean> unused = startRead(handle);
                Command held = fixture.node.awaitHeldCommand();
                assertThat(held.op()).isEqualTo(Op.READ);
            }
        }
    }

    @Test
    void aLongTransferLeavesSlotsToOthers() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            fixture.node.holdCommands(op -> op == Op.WRITE);
            for (int i = 0; i < 3; i++) {
                CompletableFuture<Boolean> write = run(() -> handle.write(0, new byte[10 * FakeNode.WINDOW_BYTES]));
                List<Command> held = new ArrayList<>();
                for (int slot = 0; slot < 1 + FakeNode.SLOTS / 2; slot++) {
                    held.add(fixture.node.awaitHeldCommand());
                }
                handle.read(0, new byte[8]);
                fixture.node.holdCommands(op -> false);
                held.forEach(command -> fixture.node.complete(command, 0));
                await(write);
                fixture.node.holdCommands(op -> op == Op.WRITE);
            }
        }
    }

    @Test
    void theLossOfTheNodeWakesEveryWaitingThread() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            fixture.node.holdCommands(op -> true);
            fixture.node.holdRequests(Nodes.class::isInstance);
            List<CompletableFuture<?>> waiting = new ArrayList<>();
            for (int slot = 0; slot < FakeNode.SLOTS - 1; slot++) {
                waiting.add(startRead(handle));
                fixture.node.awaitHeldCommand();
            }
            waiting.add(CompletableFuture.runAsync(
                    () -> handle.read(0, new byte[8]),
                    work -> Thread.ofVirtual().start(work)));
            fixture.node.awaitHeldCommand();
            waiting.add(startRead(handle)); // waits for a slot
            CompletableFuture<List<NodeInfo>> nodes = start(fixture.lite::nodes);
            waiting.add(nodes);
            fixture.node.awaitHeldRequest();

            fixture.node.dropSession();

            for (CompletableFuture<?> each : waiting) {
                assertThatThrownBy(() -> await(each)).isInstanceOf(SessionLostException.class);
            }
            assertThat(fixture.lite.isOpen()).isFalse();
            assertThat(await(fixture.lite.ended().toCompletableFuture())).contains("the node closed the connection");
        }
    }

    @Test
    void unmapWaitsForTheOperationOfAnotherThread() throws IOException, InterruptedException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LmrHandle handle = map(fixture);
            fixture.node.holdCommands(op -> true);
            CompletableFuture<Boolean> read = startRead(handle);
            Command held = fixture.node.awaitHeldCommand();
            fixture.node.holdRequests(Unmap.class::isInstance);
            Thread unmapping = Thread.ofPlatform().start(handle::unmap);
            while (unmapping.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            assertThat(read).isNotDone();

            fixture.node.complete(held, 0);

            assertThat(await(read)).isTrue();
            fixture.node.answer(fixture.node.awaitHeldRequest());
            assertThat(unmapping.join(LONG)).isTrue();
        }
    }
}
