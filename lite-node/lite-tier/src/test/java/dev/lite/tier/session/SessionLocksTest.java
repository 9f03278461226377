package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.BarrierBrokenException;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.testing.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks and barriers of applications that are attached to two real nodes. */
class SessionLocksTest {
    private static final Duration LONG = Waits.scaled(Duration.ofSeconds(20));

    @TempDir
    Path directory;

    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private Path arenas;
    private LiteNode[] nodes;
    private Lite first;
    private Lite second;

    @BeforeEach
    void start() throws IOException {
        arenas = Files.createTempDirectory(Path.of("/dev/shm"), "lite-locks-test");
        nodes = new LiteNode[] {node("node-1"), node("node-2")};
        first = attach("node-1");
        second = attach("node-2");
        Waits.until(
                "the nodes are connected",
                () -> first.nodes().stream().map(NodeInfo::fabric).toList().equals(List.of("local", "shm")));
    }

    private LiteNode node(String name) {
        InMemoryDirectory view = store.open();
        opened.push(view);
        LiteNode node = LiteNode.start(
                LiteNodeConfig.builder("locks-test", name, 64L << 20, directory.resolve(name))
                        .arena(arenas, false)
                        .build(),
                view,
                List.of(new ShmFabricProvider()));
        opened.push(node);
        SessionServer server = new SessionServer(SessionServerConfig.of(socket(name)), node);
        opened.push(server);
        server.start();
        return node;
    }

    private Path socket(String name) {
        return directory.resolve(name + ".sock");
    }

    private Lite attach(String node) {
        Lite lite = Lite.attach(AttachOptions.to(socket(node), "app-at-" + node));
        opened.push(lite);
        return lite;
    }

    @AfterEach
    void stop() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private static <T> FutureTask<T> go(Callable<T> body) {
        FutureTask<T> task = new FutureTask<>(body);
        Thread.ofPlatform().daemon().start(task);
        return task;
    }

    private static <T> T get(FutureTask<T> task) {
        try {
            return task.get(LONG.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new AssertionError(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError("it did not end", e);
        }
    }

    private void awaitWaits(long waits) {
        Waits.until(
                waits + " wait",
                () -> nodes[0].figures().syncStats().waits()
                                + nodes[1].figures().syncStats().waits()
                        >= waits);
    }

    @Test
    void aLockIsHeldByOneApplicationAtATime() {
        LtLock here = first.sync().lock("x");
        LtLock there = second.sync().lock("x");
        HeldLock held = here.acquire(LONG);
        assertThat(held.isHeld()).isTrue();
        assertThat(here.tryAcquire()).isEmpty();
        assertThat(there.tryAcquire()).isEmpty();
        assertThatExceptionOfType(LiteTimeoutException.class)
                .isThrownBy(() -> there.acquire(Waits.scaled(Duration.ofMillis(200))))
                .withMessageContaining("lock \"x\"");
        FutureTask<HeldLock> waits = go(() -> there.acquire(LONG));
        awaitWaits(2);
        held.close();
        HeldLock next = get(waits);
        assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
        held.close();
        assertThat(held.isHeld()).isFalse();
        assertThat(next.isHeld()).isTrue();
        next.close();
        Optional<HeldLock> tried = here.tryAcquire();
        assertThat(tried).isPresent();
        tried.get().close();
    }

    @Test
    void sixteenThreadsOfTwoApplicationsNeverHoldTheLockTogether() {
        LmrHandle counter = first.memory()
                .malloc(LmrSpec.of(8)
                        .withName("counter")
                        .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC));
        List<FutureTask<Boolean>> tasks = new ArrayList<>();
        for (int index = 0; index < 16; index++) {
            Lite lite = index % 2 == 0 ? first : second;
            LtLock lock = lite.sync().lock("guard");
            LmrHandle mine = lite.memory().map("counter", Permission.READ, Permission.WRITE);
            tasks.add(go(() -> {
                byte[] word = new byte[1];
                for (int round = 0; round < 12; round++) {
                    try (HeldLock held = lock.acquire(LONG)) {
                        assertThat(held.isHeld()).isTrue();
                        mine.read(0, word);
                        word[0]++;
                        mine.write(0, word);
                    }
                }
                return true;
            }));
        }
        tasks.forEach(SessionLocksTest::get);
        assertThat(counter.fetchAdd(0, 0)).isEqualTo(16 * 12);
    }

    /** More threads wait than the session may have other requests outstanding; the holder must still be able to release. */
    @Test
    void manyWaitersOfASessionDoNotPreventItsHolderFromReleasing() {
        LtLock lock = first.sync().lock("x");
        HeldLock held = lock.acquire(LONG);
        List<FutureTask<Boolean>> tasks = new ArrayList<>();
        for (int index = 0; index < 40; index++) {
            tasks.add(go(() -> {
                lock.acquire(LONG).close();
                return true;
            }));
        }
        awaitWaits(40);
        first.memory().malloc(LmrSpec.of(8)).free();
        held.close();
        tasks.forEach(SessionLocksTest::get);
    }

    @Test
    void theEndOfASessionReleasesItsLocksAndEndsItsWaits() {
        Lite dying = attach("node-2");
        LtLock its = dying.sync().lock("x");
        HeldLock held = its.acquire(LONG);
        FutureTask<HeldLock> abandoned = go(() -> its.acquire(LONG));
        awaitWaits(1);
        FutureTask<HeldLock> waits = go(() -> first.sync().lock("x").acquire(LONG));
        awaitWaits(2);
        long startNs = System.nanoTime();
        dying.close();
        assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> get(abandoned));
        get(waits).close();
        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(Waits.scaled(Duration.ofSeconds(5)));
        assertThat(held.isHeld()).isFalse();
        held.close();
        assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> its.acquire(LONG));
        assertThatExceptionOfType(SessionLostException.class).isThrownBy(its::tryAcquire);
    }

    @Test
    void aKilledHolderOrWaiterIsSkipped() {
        try (ChildJvm holder = ChildJvm.start(Victim.class, socket("node-2").toString())) {
            assertThat(holder.line()).isEqualTo("held");
            try (ChildJvm waiter = ChildJvm.start(Victim.class, socket("node-1").toString())) {
                awaitWaits(1);
                FutureTask<HeldLock> next = go(() -> first.sync().lock("x").acquire(LONG));
                awaitWaits(2);
                waiter.kill();
                assertThat(next.isDone()).isFalse();
                holder.kill();
                get(next).close();
            }
        }
    }

    /** Holds the lock until it is killed. */
    static final class Victim {
        private Victim() {}

        public static void main(String[] arguments) throws InterruptedException {
            try (Lite lite = Lite.attach(AttachOptions.to(Path.of(arguments[0]), "victim"));
                    HeldLock held = lite.sync().lock("x").acquire(Duration.ofMinutes(1))) {
                System.out.println(held.isHeld() ? "held" : "not held");
                Thread.currentThread().join(TimeUnit.MINUTES.toMillis(1));
            }
        }
    }

    @Test
    void applicationsPassABarrierAndTheEndOfOneBreaksIt() {
        LtBarrier here = first.sync().barrier("b", 2);
        LtBarrier there = second.sync().barrier("b", 2);
        for (long round = 0; round < 20; round++) {
            FutureTask<Long> other = go(() -> there.await(LONG));
            assertThat(here.await(LONG)).isEqualTo(round);
            assertThat(get(other)).isEqualTo(round);
        }
        LtBarrier three = first.sync().barrier("c", 3);
        FutureTask<Long> waits = go(() -> three.await(LONG));
        Lite dying = attach("node-2");
        FutureTask<Long> dies = go(() -> dying.sync().barrier("c", 3).await(LONG));
        Waits.until("one waits at the barrier, or both", () -> !dies.isDone());
        dying.close();
        assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> get(dies));
        // The application may have died before it arrived at the barrier; then a deadline breaks the round.
        assertThatExceptionOfType(LiteTimeoutException.class)
                .isThrownBy(() -> second.sync().barrier("c", 3).await(Waits.scaled(Duration.ofMillis(300))));
        assertThatExceptionOfType(BarrierBrokenException.class).isThrownBy(() -> get(waits));
    }
}
