package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Extent;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Move;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.VersionedRecord;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Moves that are interrupted: no thread waits forever, and nothing is lost. */
class MoveFailureTest {
    private static final int SIZE = 50_000;
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    private static LmrSpec spec() {
        return LmrSpec.of(SIZE)
                .withName("moving")
                .withPlacement(Placement.on("n1"))
                .withDefaultPermissions(DATA);
    }

    private static byte[] all(LmrHandle handle) {
        byte[] bytes = new byte[SIZE];
        handle.read(0, bytes);
        return bytes;
    }

    private static byte[] content() {
        byte[] bytes = new byte[SIZE];
        new Random(1).nextBytes(bytes);
        return bytes;
    }

    private static long allocated(TestCluster cluster, int nodes) {
        long sum = 0;
        for (int node = 0; node < nodes; node++) {
            sum += cluster.node(node).figures().usage().allocatedBytes();
        }
        return sum;
    }

    @Test
    void aMapperThatDoesNotAnswerPreventsTheMove() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            LiteNode master = cluster.start(cluster.withDeadline("n3", Waits.seconds(0.5)));
            cluster.awaitConnections();
            byte[] bytes = content();
            LmrHandle made = master.attach("app").memory().malloc(spec());
            made.write(0, bytes);
            LmrHandle silent = cluster.attach(2).memory().map("moving", DATA[0], DATA);
            LmrHandle other = cluster.attach(0).memory().map("moving", DATA[0], DATA);
            List<Extent> before = made.extents();
            long allocated = allocated(cluster, 4);
            network.pause("n2");
            assertThatThrownBy(() -> made.moveTo("n0"))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("[2]");
            assertThat(made.extents()).isEqualTo(before);
            assertThat(Arrays.equals(all(other), bytes)).isTrue();
            network.resume("n2");
            assertThat(Arrays.equals(all(silent), bytes)).isTrue();
            silent.write(0, new byte[] {1});
            bytes[0] = 1;
            Waits.until("the memory at the target node is free", () -> allocated(cluster, 4) == allocated);
            made.moveTo("n0");
            assertThat(Arrays.equals(all(silent), bytes)).isTrue();
        }
    }

    @Test
    void aMoveWhoseMoverDiedIsUndoneByTheNextUser() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            byte[] bytes = content();
            LmrHandle made = cluster.attach(0).memory().malloc(spec());
            made.write(0, bytes);
            LmrHandle waiting = cluster.attach(1).memory().map("moving", DATA[0], DATA);
            dyingMove(cluster);
            // The mover that paused this mapping is dead, so the mapper checks the record itself.
            ((Mapping) waiting).pause();
            AtomicBoolean read = new AtomicBoolean();
            Thread reader = Thread.ofPlatform().start(() -> {
                read.set(Arrays.equals(all(waiting), bytes));
            });
            Waits.join(reader);
            assertThat(read).isTrue();
            dyingMove(cluster);
            LmrHandle mapped = cluster.attach(2).memory().map("moving", DATA[0], DATA);
            assertThat(Arrays.equals(all(mapped), bytes)).isTrue();
            dyingMove(cluster);
            made.moveTo("n2");
            assertThat(made.extents()).extracting(Extent::node).containsExactly("n2");
            assertThat(Arrays.equals(all(waiting), bytes)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aMoveThatIsCancelledBeforeOrAfterItsCopyIsUndone(int cancelledAtCheck) {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            byte[] bytes = content();
            LmrHandle made = cluster.attach(0).memory().malloc(spec());
            made.write(0, bytes);
            long allocated = allocated(cluster, 3);
            List<Extent> before = made.extents();
            Moves moves =
                    Inside.field(cluster.node(2), "lmrs", LmrServices.class).moves();
            AtomicInteger checks = new AtomicInteger();

            assertThatThrownBy(() -> moves.move(
                            "moving",
                            made.id(),
                            "n2",
                            () -> checks.incrementAndGet() < cancelledAtCheck,
                            Deadline.in(Waits.seconds(20))))
                    .isInstanceOf(LmrUnavailableException.class)
                    .hasMessageContaining("cancelled");

            assertThat(made.extents()).isEqualTo(before);
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
            Waits.until("the memory at the target node is free", () -> allocated(cluster, 3) == allocated);
            moves.move("moving", made.id(), "n2", () -> true, Deadline.in(Waits.seconds(20)));
            assertThat(made.extents()).extracting(Extent::node).containsExactly("n2");
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
        }
    }

    /** A manager signs records again, for example. Else all other nodes wait for the end of the move as long as its mover lives. */
    @Test
    void aFailedMoveIsUndoneAlsoIfTheRecordChangesAtThatMoment() {
        AtomicBoolean changes = new AtomicBoolean();
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            LiteNode mover = cluster.start(
                    cluster.config("n2"), real -> changedBeforeReplace(real, () -> changes.getAndSet(false)));
            cluster.awaitConnections();
            byte[] bytes = content();
            LmrHandle made = cluster.attach(0).memory().malloc(spec());
            made.write(0, bytes);
            Moves moves = Inside.field(mover, "lmrs", LmrServices.class).moves();

            assertThatThrownBy(() -> moves.move(
                            "moving",
                            made.id(),
                            "n0",
                            () -> {
                                changes.set(true); // at the next change: the move is undone
                                return false;
                            },
                            Deadline.in(Waits.seconds(20))))
                    .hasMessageContaining("cancelled");

            assertThat(changes).isFalse();
            Waits.until("it is undone", () -> record(cluster).state() == LmrRecord.State.LIVE);
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
        }
    }

    /** The directory, in which another process changes the version of the LMR's record before a change, if the condition holds. */
    private static ClusterDirectory changedBeforeReplace(ClusterDirectory real, BooleanSupplier condition) {
        return (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("compareAndSet")
                            && arguments[0].equals("moving")
                            && condition.getAsBoolean()) {
                        VersionedRecord found =
                                real.read("moving", Waits.seconds(5)).orElseThrow();
                        assertThat(real.compareAndSet("moving", found.version(), found.bytes(), Waits.seconds(5)))
                                .isPresent();
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Nobody has freed it, and its data is where it was. */
    @Test
    void aMoveWhoseTargetRestartsWithANewArenaMeanwhileSaysThatTheLmrStaysWhereItIs() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            byte[] bytes = content();
            LmrHandle made = cluster.attach(0).memory().malloc(spec());
            made.write(0, bytes);
            Moves moves =
                    Inside.field(cluster.node(0), "lmrs", LmrServices.class).moves();
            AtomicBoolean restarted = new AtomicBoolean();

            assertThatThrownBy(() -> moves.move(
                            "moving",
                            made.id(),
                            "n2",
                            () -> {
                                if (restarted.compareAndSet(false, true)) {
                                    restartWithNewArena(cluster, "n2");
                                }
                                return true;
                            },
                            Deadline.in(Waits.seconds(20))))
                    .isInstanceOf(LmrUnavailableException.class)
                    .hasMessageContaining("LMR \"moving\" stays where it is: ")
                    .hasMessageContaining("arena");

            assertThat(made.extents()).extracting(Extent::node).containsExactly("n1");
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
            moves.move("moving", made.id(), "n2", () -> true, Deadline.in(Waits.seconds(20)));
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
        }
    }

    /** Operations on memory wait much longer for a node that may return, and here would wait for one that has nothing of theirs. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aMoveWhoseTargetLeavesMeanwhileIsUndoneSoonAndItsCopyEnds(int mover) {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            byte[] bytes = content();
            LmrHandle made = cluster.attach(0).memory().malloc(spec()); // n1 has the bytes
            made.write(0, bytes);
            LmrHandle other = cluster.attach(1).memory().map("moving", DATA[0], DATA);
            cluster.node(1).setReturnGrace(Duration.ofHours(1));
            LmrServices lmrs = Inside.field(cluster.node(mover), "lmrs", LmrServices.class);
            AtomicBoolean left = new AtomicBoolean();
            AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

            Thread moving = Thread.ofPlatform()
                    .start(() -> failure.set(catchThrowable(() -> lmrs.moves()
                            .move(
                                    "moving",
                                    made.id(),
                                    "n2",
                                    () -> {
                                        if (left.compareAndSet(false, true)) {
                                            cluster.stop("n2");
                                        }
                                        return true;
                                    },
                                    Deadline.in(Duration.ofHours(1))))));
            Waits.join(moving);

            assertThat(failure.get())
                    .isInstanceOf(LmrUnavailableException.class)
                    .hasMessageContaining("LMR \"moving\" stays where it is: node n2 left the cluster");
            assertThat(record(cluster).state()).isEqualTo(LmrRecord.State.LIVE);
            assertThat(made.extents()).extracting(Extent::node).containsExactly("n1");
            other.write(0, new byte[] {1});
            bytes[0] = 1;
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
            made.moveTo("n0"); // a copy that still waited would have the only slot, or the LMR's lock
            other.memset(0, 1, (byte) 2);
            bytes[0] = 2;
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
            made.free();
        }
    }

    private static void restartWithNewArena(TestCluster cluster, String node) {
        cluster.stop(node);
        try {
            Files.delete(cluster.arenas().resolve("c").resolve(node).resolve("arena"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        LiteNode unused = cluster.start(node);
        cluster.awaitConnections();
    }

    @Test
    void aRequestThatBeginsAMoveHasNoEffectAfterItsMoverGaveUp() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            HeldNews.Started mover = HeldNews.start(cluster, cluster.config("n2"));
            HeldNews news = mover.news();
            cluster.awaitConnections();
            LmrHandle made = mover.node().attach("app").memory().malloc(spec());
            byte[] bytes = content();
            made.write(0, bytes);
            news.delayNextChange();
            assertThatThrownBy(() -> made.moveTo("n0")).isInstanceOf(LiteException.class);

            assertThat(news.makeDelayedChange()).isFalse();

            LmrHandle mapped = cluster.attach(1).memory().map("moving", Permission.MASTER, Permission.READ);
            mapped.moveTo("n0");
            assertThat(Arrays.equals(all(mapped), bytes)).isTrue();
        }
    }

    @Test
    void aMoveWhoseLastAnswerIsLostIsDone() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            HeldNews.Started mover = HeldNews.start(cluster, cluster.config("n2"));
            HeldNews news = mover.news();
            cluster.awaitConnections();
            LmrHandle made = mover.node().attach("app").memory().malloc(spec());
            byte[] bytes = content();
            made.write(0, bytes);
            long allocated = allocated(cluster, 2);
            LmrHandle other = cluster.attach(1).memory().map("moving", DATA[0], DATA);
            AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
            Thread moving = Thread.ofPlatform().unstarted(() -> failed.set(catchThrowable(() -> made.moveTo("n0"))));
            HeldNews.HeldAnswer copied = news.holdMovingRecord(moving, 1);
            moving.start();
            Waits.until("the bytes are copied", copied::isHeld);
            news.loseNextAnswer();
            copied.release();
            Waits.join(moving);

            assertThat(failed).hasNullValue();
            assertThat(made.extents()).extracting(Extent::node).containsExactly("n0");
            assertThat(Arrays.equals(all(other), bytes)).isTrue();
            Waits.until("the memory at the former node is free", () -> allocated(cluster, 2) == allocated);
        }
    }

    @Test
    void aMoveWhoseMoverIsFencedIsUndoneEvenIfNoThreadWaitsForIt() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(4)) {
            byte[] bytes = content();
            LmrHandle made = cluster.attach(0).memory().malloc(spec());
            made.write(0, bytes);
            LmrHandle silent = cluster.attach(3).memory().map("moving", DATA[0], DATA);
            LmrHandle mover = cluster.attach(2).memory().map("moving", Permission.MASTER);
            long allocated = allocated(cluster, 2);
            long incarnation = cluster.node(2).self().incarnation();
            network.pause("n3"); // a mapper that does not answer, so the move does not finish
            Thread moving = Thread.ofPlatform()
                    .start(() -> assertThatThrownBy(() -> mover.moveTo("n0")).isInstanceOf(LiteException.class));
            Waits.until("it moves", () -> record(cluster).state() == LmrRecord.State.MOVING);

            cluster.directory(2).setAvailable(false);
            cluster.directory(2).expireSession();
            network.resume("n3");

            Waits.until(
                    "its mover is fenced", () -> cluster.directory(0).epoch().isFenced(2, incarnation));
            Waits.until("it is undone", () -> record(cluster).state() == LmrRecord.State.LIVE);
            Waits.until("the memory at the target node is free", () -> allocated(cluster, 2) == allocated);
            assertThat(made.extents()).extracting(Extent::node).containsExactly("n1");
            assertThat(Arrays.equals(all(silent), bytes)).isTrue();
            cluster.directory(2).setAvailable(true);
            Waits.join(moving);
            made.moveTo("n3");
            assertThat(Arrays.equals(all(silent), bytes)).isTrue();
        }
    }

    /** Its process was paused, say. The others cannot tell that it has not ended. */
    @Test
    void aMoverThatReturnsDoesNotMoveToAPlaceThatOthersFreedMeanwhile() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            byte[] bytes = content();
            LmrHandle made = cluster.attach(1).memory().malloc(spec());
            made.write(0, bytes);
            AtomicReference<@Nullable LmrHandle> next = new AtomicReference<>();
            LmrServices lmrs = Inside.field(cluster.node(2), "lmrs", LmrServices.class);
            Moves.Destination destination = (lmr, deadline) -> {
                PrincipalBytes.Charge charge = new PrincipalBytes.Charge(lmr.owner(), false);
                List<Share> place = lmrs.allocation()
                        .allocate(
                                new ShareAllocation.Demand(lmr.id(), SIZE, lmr.chunkShift(), charge),
                                List.of(0),
                                deadline);
                cluster.directory(2).setAvailable(false);
                cluster.directory(2).expireSession();
                cluster.node(0).setOrphanGrace(Waits.seconds(0.1));
                Waits.until(
                        "the place is freed", () -> cluster.node(0).figures().lmrBytes() == 0);
                next.set(cluster.attach(0)
                        .memory()
                        .malloc(LmrSpec.of(SIZE).withName("next").withPlacement(Placement.local())));
                long before = cluster.node(2).self().incarnation();
                cluster.directory(2).setAvailable(true);
                Waits.until(
                        "the mover is a member again",
                        () -> cluster.node(2).self().incarnation() > before
                                && cluster.node(2).isMember());
                cluster.awaitConnections();
                return Optional.of(new Moves.Target(lmr.chunkShift(), place));
            };

            assertThatThrownBy(() ->
                            lmrs.moves().move("moving", made.id(), null, destination, Deadline.in(Waits.seconds(30))))
                    .isInstanceOf(LiteException.class);

            assertThat(all(Objects.requireNonNull(next.get()))).containsOnly(0);
            assertThat(Arrays.equals(all(made), bytes)).isTrue();
            assertThat(made.extents()).extracting(Extent::node).containsExactly("n1");
        }
    }

    @Test
    void aFailedMoveIsUndoneByItsMoverWhenTheDirectoryAnswersAgain() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            LiteNode master = cluster.start(cluster.withDeadline("n3", Waits.seconds(0.5)));
            cluster.awaitConnections();
            byte[] bytes = content();
            LmrHandle made = cluster.attach(0).memory().malloc(spec());
            made.write(0, bytes);
            LmrHandle silent = cluster.attach(2).memory().map("moving", DATA[0], DATA);
            LmrHandle mover = master.attach("app").memory().map("moving", Permission.MASTER);
            long allocated = allocated(cluster, 4);
            network.pause("n2"); // a mapper that does not answer, so the move does not finish
            Thread moving = Thread.ofPlatform()
                    .start(() -> assertThatThrownBy(() -> mover.moveTo("n0")).isInstanceOf(LiteException.class));
            Waits.until("it moves", () -> record(cluster).state() == LmrRecord.State.MOVING);
            cluster.directory(3).setAvailable(false);
            Waits.join(moving);
            assertThat(record(cluster).state()).isEqualTo(LmrRecord.State.MOVING);
            network.resume("n2");

            cluster.directory(3).setAvailable(true); // and no operation of the mover's node meets the record

            Waits.until("it is undone", () -> record(cluster).state() == LmrRecord.State.LIVE);
            Waits.until("the memory at the target node is free", () -> allocated(cluster, 4) == allocated);
            assertThat(Arrays.equals(all(silent), bytes)).isTrue();
        }
    }

    private static LmrRecord record(TestCluster cluster) {
        return LmrRecord.decode(cluster.directory(0)
                .read("moving", Waits.seconds(5))
                .orElseThrow()
                .bytes());
    }

    /** Leaves the record of a node that died in the middle of a move: an earlier incarnation of n2. */
    private static void dyingMove(TestCluster cluster) {
        ClusterDirectory directory = cluster.directory(0);
        VersionedRecord found = directory.read("moving", Waits.seconds(5)).orElseThrow();
        LmrRecord record = LmrRecord.decode(found.bytes());
        long incarnation = cluster.node(2).self().incarnation() - 1;
        Share nowhere = new Share(2, UUID.randomUUID(), List.of(new Run(1 << 20, 1 << 16, 500)));
        LmrRecord moving = record.withMove(new Move(2, incarnation, 62, List.of(nowhere)));
        assertThat(directory.compareAndSet("moving", found.version(), moving.encode(), Waits.seconds(5)))
                .isPresent();
    }
}
