package dev.lite.client.reattach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Attaching, and waiting for the node. */
class ReattachingLiteTest extends ReattachingCases {
    @Test
    void aLazySessionAttachesAtItsFirstUse() {
        nodeIsUp = false;
        ReattachingLite lazy = openLazily(SHORT);
        assertThat(lazy.isOpen()).isFalse();
        assertThat(lazy).hasToString("ReattachingLite[/tmp/x.sock, not attached yet]");
        assertThatThrownBy(() -> lazy.memory().map("a", Permission.READ)).isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(lazy::nodeName).isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(lazy::nodes).isInstanceOf(NodeUnreachableException.class);
        nodeIsUp = true;
        assertThat(lazy.memory().map("a", Permission.READ).id()).isEqualTo(idOfA);
        assertThat(lazy.isOpen()).isTrue();
        assertThat(lazy.nodeName()).isEqualTo("fake-1");
        assertThat(sessions)
                .as("one at the start of the test, and the lazy one")
                .hasSize(2);
    }

    @Test
    void theHandlersOfALazySessionAreServedOnceAsSoonAsTheNodeIsThere() {
        nodeIsUp = false;
        ReattachingLite lazy = openLazily(SHORT);
        RpcServer one = lazy.rpc().register("one", 1, call -> MemorySegment.ofArray(BYTES));
        RpcServer two = lazy.rpc().register("two", 1, call -> MemorySegment.ofArray(BYTES));
        nodeIsUp = true;
        Waits.until(
                "both are served",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.size() == 2);
        assertThat(sessions.getLast().rpc().handlers).containsOnlyKeys("one", "two");
        one.close();
        two.close();
        lazy.close();
    }

    @Test
    void aLazySessionThatWasNeverUsedCloses() {
        ReattachingLite lazy = openLazily(SHORT);
        lazy.close();
        assertThat(sessions).hasSize(1);
        assertThatThrownBy(lazy::nodes).isInstanceOf(SessionLostException.class);
    }

    private ReattachingLite openLazily(Duration deadline) {
        return open(
                AttachOptions.to(Path.of("/tmp/x.sock"), "test").withLazy(true).withDeadline(deadline));
    }

    @Test
    void theMemoryOutlivesTheNodesRestart() {
        var memory = lite.memory();
        sessions.getLast().lose();
        assertThat(lite.isOpen()).isFalse();
        assertThatThrownBy(() -> memory.map("b", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        assertThat(lite.isOpen()).isTrue();
        assertThat(sessions).hasSize(2);
    }

    @Test
    void callersGetAnErrorAtTheirDeadlineWhileTheNodeIsDown() {
        ReattachingLite shortLived = open(SHORT);
        LmrHandle handle = shortLived.memory().map("a", Permission.READ);
        nodeIsUp = false;
        sessions.getLast().lose();
        long startNs = System.nanoTime();

        assertThatThrownBy(() -> shortLived.memory().map("a", Permission.READ))
                .isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(() -> handle.read(0, BYTES)).isInstanceOf(NodeUnreachableException.class);

        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isBetween(SHORT.multipliedBy(2), LONG);
        assertThatThrownBy(shortLived::nodes).as("asked at once").isInstanceOf(NodeUnreachableException.class);
        nodeIsUp = true;
        assertThat(shortLived.nodes()).hasSize(2);
    }

    @Test
    void nodesWaitsForAnotherThreadThatIsAttaching() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        attachesSlowly = true;
        sessions.getLast().lose();
        Thread other = Thread.ofPlatform().start(() -> handle.read(0, BYTES));
        Waits.until("an attachment began", () -> attaches);

        assertThat(lite.nodes()).hasSize(2);

        assertThat(sessions).hasSize(2);
        Waits.join(other);
    }

    @Test
    void callersWaitForTheNodeAndContinueWithTheirHandles() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        LtLock lock = lite.sync().lock("a");
        nodeIsUp = false;
        sessions.getLast().lose();
        Thread node = Thread.ofPlatform().start(() -> {
            Waits.pass(SHORT);
            nodeIsUp = true;
        });

        handle.read(0, BYTES);

        assertThat(nodeIsUp).isTrue();
        handle.write(0, BYTES);
        assertThat(handle.fetchAdd(0, 1)).isEqualTo(5);
        assertThat(handle.id()).isEqualTo(7);
        assertThat(lock.tryAcquire()).isEmpty();
        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().known("a").calls).hasValue(3);
        Waits.join(node);
    }

    @Test
    void onlyABoundedNumberOfOperationsWaitsForANodeThatIsAway() {
        ReattachingLite bounded = open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(LONG)
                .withWaitersMax(2));
        LmrHandle handle = bounded.memory().map("a", Permission.READ);
        nodeIsUp = false;
        sessions.getLast().lose();
        List<Thread> waiting = new ArrayList<>();
        for (int index = 0; index < 2; index++) {
            waiting.add(Thread.ofVirtual().start(() -> readWhenAdmitted(handle)));
        }
        Waits.until("a further operation fails at once", () -> {
            try {
                bounded.nodes();
                return false;
            } catch (NodeUnreachableException | LiteTimeoutException e) {
                return String.valueOf(e.getMessage()).contains("2 operations wait for it already");
            }
        });
        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessage(
                        "the node at /tmp/x.sock is away, and 2 operations wait for it already, which is the limit (lite.client.waiters-max)");
        nodeIsUp = true;
        waiting.forEach(Waits::join);
        handle.read(0, BYTES);
        bounded.close();
    }

    /** The test's own checks may take its place among the waiters for a moment. */
    private static void readWhenAdmitted(LmrHandle handle) {
        Waits.until("the read is admitted", () -> {
            try {
                handle.read(0, new byte[8]);
                return true;
            } catch (NodeUnreachableException e) {
                return false;
            }
        });
    }

    @Test
    void callersThatWaitForTheNodeFailWhenTheApplicationCloses() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        nodeIsUp = false;
        sessions.getLast().lose();
        Thread closer = Thread.ofPlatform().start(() -> {
            Waits.pass(SHORT);
            lite.close();
        });

        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOfAny(SessionLostException.class, NodeUnreachableException.class);
        Waits.join(closer);
    }

    @Test
    void aCallWaitsForTheNodeNoLongerThanItsOwnDeadline() {
        nodeIsUp = false;
        sessions.getLast().lose();
        long startNs = System.nanoTime();

        assertThatThrownBy(() -> lite.rpc().call("fake-1", "f", BYTES, SHORT))
                .isInstanceOf(NodeUnreachableException.class);

        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isBetween(SHORT, LONG.dividedBy(2));
    }

    @Test
    void aClosedSessionIsNotReplaced() {
        lite.close();
        assertThatThrownBy(lite::nodes).isInstanceOf(SessionLostException.class);
        assertThat(sessions).hasSize(1);
    }

    @Test
    void argumentsThatNeedNoNodeAreRefusedWhileTheNodeIsAway() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.MASTER);
        nodeIsUp = false;
        sessions.getLast().lose();
        attemptsToAttach.clear();
        LtMemory memory = lite.memory();
        LmrSpec anonymous = LmrSpec.of(8);
        RpcClient client = lite.rpc().bind("fake-1", "f");
        MemorySegment bytes = MemorySegment.ofArray(BYTES);
        List<ThrowingCallable> invalid = List.of(
                () -> lite.rpc().multicast(List.of("fake-1", " "), "f", BYTES, LONG),
                () -> lite.rpc().multicast(List.of("fake-1"), "\n", BYTES, LONG),
                () -> client.call(bytes, bytes.asReadOnly(), LONG),
                () -> memory.createOrMap(anonymous, Permission.READ),
                () -> memory.map("", Permission.READ),
                () -> memory.map("a", Set.of()),
                () -> memory.map(7, Set.of(), LONG),
                () -> memory.register(anonymous, MemorySegment.ofArray(new byte[7])),
                () -> lite.sync().lock(" "),
                () -> lite.sync().barrier("", 2),
                () -> lite.sync().barrier("b", 0),
                () -> lite.rpc().serve("\n"),
                () -> lite.rpc().messages("\n"),
                () -> lite.rpc().send(" ", "p", MemorySegment.ofArray(BYTES), LONG),
                () -> lite.rpc().send("fake-1", "\n", MemorySegment.ofArray(BYTES), LONG),
                () -> handle.grant("", Set.of(Permission.READ)),
                () -> handle.moveTo(" "));

        for (int index = 0; index < invalid.size(); index++) {
            assertThatThrownBy(invalid.get(index)).as("call %d", index).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(attemptsToAttach).isEmpty();
    }

    @Test
    @SuppressWarnings("NullAway") // the missing requests are the subject
    void aMissingRequestIsRefusedWhileTheNodeIsAway() {
        RpcClient client = lite.rpc().bind("fake-1", "f");
        nodeIsUp = false;
        sessions.getLast().lose();
        attemptsToAttach.clear();
        byte[] none = null;
        MemorySegment noSegment = null;
        MemorySegment reply = MemorySegment.ofArray(BYTES);
        List<ThrowingCallable> calls = List.of(
                () -> client.call(none, LONG),
                () -> client.callAsync(none, LONG),
                () -> client.call(noSegment, reply, LONG),
                () -> lite.rpc().multicast(List.of("fake-1"), "f", none, LONG));

        for (int index = 0; index < calls.size(); index++) {
            assertThatThrownBy(calls.get(index))
                    .as("call %d", index)
                    .isInstanceOf(NullPointerException.class)
                    .hasMessage("request");
        }
        assertThat(attemptsToAttach).isEmpty();
    }
}
