package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.read;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class AppendTest {
    private static LogFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new LogFixture(3);
    }

    @AfterAll
    static void stop() throws IOException {
        fixture.close();
    }

    @Test
    void aTransactionIsReadOnOtherNodesAsItWasAppended() {
        LiteLog log = fixture.create("read", small().withPlacement(Placement.on("node-2")));
        log.append(bytes("one"));
        log.append(bytes("two"), bytes(""), bytes("a third entry"));

        LogReader reader = fixture.logs(2).open("read").reader(log.firstPosition());

        assertThat(read(reader)).containsExactly("one", "two++a third entry");
        assertThat(reader.position()).isEqualTo(log.endPosition());
    }

    @Test
    void positionsGrowAndAReaderBeginsAtAnyOfThem() {
        LiteLog log = fixture.create("seek", small());
        List<Long> positions = new ArrayList<>();
        for (int number = 0; number < 500; number++) { // several segments
            positions.add(log.append(bytes("entry " + number)));
        }
        assertThat(positions).isSorted().doesNotHaveDuplicates();
        assertThat(LogPosition.segment(positions.getLast())).isGreaterThan(2);

        LogReader reader = log.reader(log.firstPosition());
        for (int number : new int[] {499, 0, 250, 3}) {
            reader.seek(positions.get(number));
            LogTransaction transaction = reader.next(Duration.ZERO);
            assertThat(transaction).isNotNull();
            assertThat(transaction.position()).isEqualTo(positions.get(number));
            assertThat(transaction.bytes(0)).isEqualTo(bytes("entry " + number));
            assertThat(reader.position()).isEqualTo(transaction.nextPosition());
        }
        reader.seek(log.firstPosition());
        assertThat(read(reader))
                .isEqualTo(IntStream.range(0, 500)
                        .mapToObj(number -> "entry " + number)
                        .toList());
    }

    @Test
    void entriesOfEveryLengthAreReadAsTheyWereAppended() {
        LiteLog log = fixture.create("lengths", small().withSegmentBytes(1 << 20));
        Random random = new Random(8);
        List<byte[]> entries = new ArrayList<>();
        for (int length = 0; length < 200; length++) {
            entries.add(new byte[length]);
        }
        entries.add(new byte[100_000]); // larger than the buffers
        entries.add(new byte[(int) log.transactionBytesMax() - 8]);
        for (byte[] entry : entries) {
            random.nextBytes(entry);
            log.append(entry);
        }
        LogReader reader = log.reader(log.firstPosition());
        for (byte[] entry : entries) {
            LogTransaction transaction = reader.next(Duration.ZERO);
            assertThat(transaction).isNotNull();
            assertThat(Arrays.equals(transaction.bytes(0), entry)).isTrue();
        }
        assertThat(reader.next(Duration.ZERO)).isNull();
    }

    @Test
    void batchesKeepTheOrderAndEachTransactionHasAPositionOfItsOwn() {
        LiteLog log = fixture.create("batches", small().withSegmentBytes(64 << 10));
        List<CompletableFuture<Long>> futures = new ArrayList<>();
        for (int number = 0; number < 20_000; number++) {
            futures.add(log.appendAsync(bytes("n" + number), bytes("m")));
        }
        List<Long> positions = futures.stream().map(CompletableFuture::join).toList();
        assertThat(positions).isSorted().doesNotHaveDuplicates();
        assertThat(positions.stream().anyMatch(position -> LogPosition.index(position) > 0))
                .as("transactions shared slots")
                .isTrue();

        LogReader reader = log.reader(log.firstPosition());
        assertThat(read(reader))
                .isEqualTo(IntStream.range(0, 20_000)
                        .mapToObj(number -> "n" + number + "+m")
                        .toList());
        reader.seek(positions.get(12_345));
        assertThat(reader.next(Duration.ZERO))
                .isNotNull()
                .extracting(transaction -> transaction.bytes(0))
                .isEqualTo(bytes("n12345"));
    }

    @Test
    void closingWritesWhatWasTaken() {
        LiteLogs logs = fixture.logs(1);
        LiteLog log = logs.create("close", small());
        CompletableFuture<Long> future = log.appendAsync(bytes("late"));
        log.close();
        assertThat(future.join()).isNotNegative();
        assertThatThrownBy(() -> log.append(bytes("x")))
                .isInstanceOf(LogStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(() -> log.appendAsync(bytes("x"))).isInstanceOf(LogStateException.class);
        LiteLog again = logs.open("close");
        assertThat(read(again.reader(again.firstPosition()))).containsExactly("late");
    }

    @Test
    void aReaderFollowsTheEndWhileWritersOnSeveralNodesAppend() {
        CommitChecker checker = new CommitChecker();
        LiteLog log = fixture.create("follow", small().withSegmentBytes(32 << 10));
        List<Thread> writers = new ArrayList<>();
        for (int writer = 0; writer < 4; writer++) {
            int number = writer;
            LiteLog own = fixture.logs(writer % 3).open("follow");
            writers.add(Thread.ofPlatform().start(() -> {
                for (int sequence = 0; sequence < 3000; sequence++) {
                    checker.acknowledge(number, sequence, own.append(CommitChecker.transaction(number, sequence)));
                }
            }));
        }
        List<Thread> readers = new ArrayList<>();
        for (int reader = 0; reader < 2; reader++) {
            LogReader own = fixture.logs(reader).open("follow").reader(log.firstPosition());
            CommitChecker.Copy copy = checker.copy();
            readers.add(Thread.ofPlatform().start(() -> {
                while (copy.count() < 4 * 3000 && own.await(copy::add, 100, Waits.seconds(20)) > 0) {}
            }));
        }
        writers.forEach(Waits::join);
        readers.forEach(Waits::join);
        checker.check();
        assertThat(checker.acknowledgedCount()).isEqualTo(4 * 3000);
    }

    @Test
    void memoryThatCannotBeReadLeavesNothingInTheBatch() {
        LiteLog log = fixture.create("unreadable", small());
        MemorySegment closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = arena.allocate(8);
        }
        List<MemorySegment> entries = List.of(MemorySegment.ofArray(bytes("half")), closed);
        assertThatThrownBy(() -> log.appendAsync(entries)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> log.append(entries)).isInstanceOf(IllegalStateException.class);
        log.appendAsync(bytes("whole")).join();
        log.append(bytes("whole, too"));
        assertThat(read(log.reader(log.firstPosition()))).containsExactly("whole", "whole, too");
    }

    @Test
    void appendsOfSmallEntriesAllocateNothing() {
        LiteLog log = fixture.create("garbage", small().withSegmentBytes(8 << 20));
        MemorySegment entry = MemorySegment.ofArray(bytes("sixteen bytes...")); // 16
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (int count = 0; count < 1000; count++) {
            log.append(entry);
        }
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int count = 0; count < 10_000; count++) {
            log.append(entry);
        }
        assertThat(threads.getCurrentThreadAllocatedBytes() - before)
                .as("bytes for 10,000 appends")
                .isLessThan(10_000);
    }

    /** They have memory outside of the heap. */
    @Test
    void aLogKeepsFewOfTheLargeFramesThatManyThreadsUsedAtOnce() {
        CountDownLatch reserved = new CountDownLatch(60);
        Lite lite = FaultySession.of(fixture.session(0), (executed, operation) -> {
            if (executed && operation.equals("fetchAdd")) {
                reserved.countDown();
                Waits.until("all threads have a frame", () -> reserved.getCount() == 0);
            }
        });
        LiteLog log = new LiteLogs(lite).create("frames", small().withSegmentBytes(40 << 20));
        byte[] entry = new byte[500_000];
        List<Thread> threads = IntStream.range(0, 60)
                .mapToObj(i -> Thread.ofPlatform()
                        .start(() -> assertThat(log.append(entry)).isNotNegative()))
                .toList();
        threads.forEach(Waits::join);
        Collection<?> spares = Inside.field(log, "spares", Collection.class);
        long bytes =
                spares.stream().mapToLong(frame -> ((Frame) frame).capacity()).sum();
        assertThat(bytes).isBetween((long) entry.length, 16L << 20);
        assertThat(LogPosition.segment(log.append(entry))).isZero();
        log.close();
    }

    @Test
    void aReaderDoesNotKeepTheMemoryOfALargeEntryForSmallOnes() {
        LiteLog log = fixture.create("shrink", small().withSegmentBytes(4 << 20).withRetentionBytes(32 << 20));
        LogReader reader = log.reader(log.firstPosition());
        long[] bytes = new long[1];
        EntryHandler sizing = (position, memory, offset, length, last) -> bytes[0] = memory.byteSize();
        log.append(new byte[1 << 19]);
        assertThat(reader.await(sizing, 1, Waits.seconds(20))).isOne();
        assertThat(bytes[0]).isGreaterThan(1 << 19);
        for (int number = 0; number < 100; number++) {
            log.append(bytes("small " + number));
            assertThat(reader.await(sizing, 1, Waits.seconds(20))).isOne();
        }
        assertThat(bytes[0]).isLessThanOrEqualTo(64 << 10);
    }

    /** Each new buffer costs memory until the next garbage collection. */
    @Test
    void aReaderOfLargeAndSmallEntriesInTurnsKeepsItsMemory() {
        LiteLog log = fixture.create("turns", small().withSegmentBytes(4 << 20).withRetentionBytes(32 << 20));
        LogReader reader = log.reader(log.firstPosition());
        Set<Long> addresses = new HashSet<>();
        EntryHandler addressing = (position, memory, offset, length, last) -> addresses.add(memory.address());
        for (int number = 0; number < 20; number++) {
            log.append(new byte[100 << 10]);
            log.append(bytes("small " + number));
            assertThat(reader.await(addressing, 1, Waits.seconds(20))).isOne();
            assertThat(reader.await(addressing, 1, Waits.seconds(20))).isOne();
        }
        assertThat(addresses).hasSize(1);
    }

    @Test
    void badInputIsRefusedWithTheValueAndTheLimit() {
        LiteLogs logs = fixture.logs(0);
        LiteLog log = logs.create("bad", small());
        long max = log.transactionBytesMax();
        assertThatThrownBy(() -> log.append(new byte[(int) max]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Long.toString(max + 8))
                .hasMessageContaining(Long.toString(max));
        assertThatThrownBy(() -> log.append(List.<MemorySegment>of())).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> log.reader(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> log.reader(LogPosition.of(99, 0, 0)))
                .isInstanceOf(LogPositionException.class)
                .hasMessageContaining("99/0.0");
        assertThatThrownBy(() -> log.consumer(" ", 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> log.reader(0).poll((position, memory, offset, length, last) -> {}, 0))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> log.reader(0).commit()).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> small().withSegmentBytes(5000)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> small().withHoleTimeout(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> small().withBoundBytes(1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> small().withDefaultPermissions(Permission.MASTER))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> logs.create("bad", small())).isInstanceOf(LmrExistsException.class);
        assertThatThrownBy(() -> logs.open("none")).isInstanceOf(LmrNotFoundException.class);
        assertThatThrownBy(() -> logs.open("x".repeat(400)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("400");
    }

    @Test
    void memoryThatIsNoLogIsRefused() {
        Lite lite = fixture.session(0);
        lite.memory().malloc(LmrSpec.of(64).withName("short.log"));
        assertThatThrownBy(() -> new LiteLogs(lite).open("short"))
                .isInstanceOf(LogStateException.class)
                .hasMessageContaining("64 bytes");
        LmrHandle other = lite.memory().malloc(LmrSpec.of(Metadata.BYTES).withName("other.log"));
        other.putLong(8, Metadata.STATE_READY);
        other.putLong(0, 77);
        assertThatThrownBy(() -> new LiteLogs(lite).open("other"))
                .isInstanceOf(LogStateException.class)
                .hasMessageContaining("0x4d");
    }

    @Test
    void aLogOfAnotherLayoutIsRefusedWithBothNumbers() {
        Lite lite = fixture.session(0);
        LmrHandle former = lite.memory().malloc(LmrSpec.of(8192).withName("former.log"));
        former.putLong(0, 0x4C49_5445_4C4F_4701L);
        LiteLogs logs = new LiteLogs(lite);
        for (ThrowingCallable use : List.<ThrowingCallable>of(
                () -> logs.open("former"), () -> logs.createOrOpen("former", small()), () -> logs.delete("former"))) {
            assertThatThrownBy(use)
                    .isInstanceOf(LogStateException.class)
                    .hasMessageContaining("has layout 1, and this version of LITE-Log uses layout 2");
        }
    }

    @Test
    void aDeletedLogLeavesNoMemory() {
        LiteLogs logs = fixture.logs(1);
        LiteLog log = logs.create("deleted", small());
        for (int number = 0; number < 300; number++) {
            log.append(bytes("entry " + number));
        }
        long last = LogPosition.segment(log.endPosition());
        logs.delete("deleted");

        assertThatThrownBy(() -> logs.open("deleted")).isInstanceOf(LmrNotFoundException.class);
        Lite lite = fixture.session(1);
        for (long number = 0; number <= last + 1; number++) {
            String name = log.segmentName(number);
            // The segment that is made in advance may be made and freed a little later.
            Waits.until(name + " is free", () -> isFree(lite, name));
        }
        assertThatThrownBy(() -> log.append(bytes("x"))).isInstanceOf(RuntimeException.class);
    }

    private static boolean isFree(Lite lite, String name) {
        try {
            lite.memory().map(name, Permission.READ).unmap();
            return false;
        } catch (LmrNotFoundException e) {
            return true;
        }
    }

    @Test
    void aLogOfAnotherPrincipalIsReadOnlyIfItSaysSo() {
        LiteLog log = fixture.create("shared", small().withDefaultPermissions(Permission.READ));
        log.append(bytes("public"));
        try (Lite other = fixture.cluster.nodes().get(1).attach("stranger")) {
            LiteLog theirs = new LiteLogs(other).open("shared");
            assertThat(read(theirs.reader(theirs.firstPosition()))).containsExactly("public");
            assertThatThrownBy(() -> theirs.append(bytes("x"))).isInstanceOf(LmrPermissionException.class);
            assertThatThrownBy(() -> theirs.appendAsync(bytes("x"))).isInstanceOf(LmrPermissionException.class);
        }
    }
}
