package dev.lite.fabric.conformance;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.conformance.TestFabrics.Pair;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Fetch-and-add and compare-and-swap. */
interface AtomicCases extends ConformanceCases {

    @Test
    default void fetchAddAddsAndReturnsThePreviousValue() {
        Pair pair = fabrics().pair();
        pair.to().word(64, 40);

        assertThat(fetchAdd(pair, 64, 2)).isEqualTo(40);
        assertThat(fetchAdd(pair, 64, -50)).isEqualTo(42);
        assertThat(fetchAdd(pair, 64, 0)).isEqualTo(-8);
        assertThat(pair.to().word(64)).isEqualTo(-8);
    }

    @Test
    default void fetchAddWrapsAround() {
        Pair pair = fabrics().pair();
        pair.to().word(8, Long.MAX_VALUE);

        assertThat(fetchAdd(pair, 8, 1)).isEqualTo(Long.MAX_VALUE);
        assertThat(fetchAdd(pair, 8, -1)).isEqualTo(Long.MIN_VALUE);
        assertThat(fetchAdd(pair, 8, Long.MIN_VALUE)).isEqualTo(Long.MAX_VALUE);
        assertThat(pair.to().word(8)).isEqualTo(-1);
    }

    @Test
    default void compareAndSwapReplacesOnlyTheExpectedValue() {
        Pair pair = fabrics().pair();
        pair.to().word(16, 7);

        assertThat(compareAndSwap(pair, 16, 6, 100)).isEqualTo(7);
        assertThat(pair.to().word(16)).isEqualTo(7);
        assertThat(compareAndSwap(pair, 16, 7, Long.MIN_VALUE)).isEqualTo(7);
        assertThat(pair.to().word(16)).isEqualTo(Long.MIN_VALUE);
        assertThat(compareAndSwap(pair, 16, Long.MIN_VALUE, Long.MIN_VALUE)).isEqualTo(Long.MIN_VALUE);
        assertThat(pair.to().word(16)).isEqualTo(Long.MIN_VALUE);
    }

    @Test
    default void atomicsChangeTheFirstAndTheLastWordButNotTheirNeighbours() {
        Pair pair = fabrics().pair();
        long last = pair.out().remoteSize() - Long.BYTES;
        pair.to().word(8, 1);
        pair.to().word(last - 8, 1);
        pair.to().word(last, 5);

        assertThat(fetchAdd(pair, 0, -1)).isZero();
        assertThat(fetchAdd(pair, last, -6)).isEqualTo(5);
        assertThat(compareAndSwap(pair, last, -1, 9)).isEqualTo(-1);

        assertThat(pair.to().word(0)).isEqualTo(-1);
        assertThat(pair.to().word(8)).isEqualTo(1);
        assertThat(pair.to().word(last - 8)).isEqualTo(1);
        assertThat(pair.to().word(last)).isEqualTo(9);
    }

    @Test
    default void fourThreadsOnTwoNodesAndTheOwnerSeeEveryValueOfACounterOnce() {
        int count = 500;
        long offset = 4096;
        TestNode owner = fabrics().open("owner");
        List<Pair> pairs = List.of(
                fabrics().connect(fabrics().open("alpha"), owner),
                fabrics().connect(fabrics().open("beta"), owner));
        List<MemorySegment> results = IntStream.range(0, 4)
                .mapToObj(thread -> pairs.get(thread % 2).from().local(8))
                .toList();
        List<BitSet> values =
                IntStream.range(0, 5).mapToObj(thread -> new BitSet()).toList();
        owner.startPolling();
        pairs.forEach(pair -> pair.from().startPolling());

        AtomicInteger adding = new AtomicInteger(4);
        Workers.run(5, thread -> {
            BitSet mine = values.get(thread);
            if (thread == 4) {
                addAsTheOwner(owner, offset, mine, adding);
                return;
            }
            Pair pair = pairs.get(thread % 2);
            MemorySegment result = results.get(thread);
            try {
                for (int i = 0; i < count; i++) {
                    TestFabrics.runOn(
                            pair.from(),
                            pair.out(),
                            (to, context) -> to.fetchAdd(offset, 1, result.address(), context));
                    mine.set(Math.toIntExact(result.get(JAVA_LONG, 0)));
                }
            } finally {
                adding.decrementAndGet();
            }
        });

        BitSet all = new BitSet();
        for (int thread = 0; thread < 5; thread++) {
            assertThat(values.get(thread).intersects(all))
                    .as("thread %d got a value that another thread got too", thread)
                    .isFalse();
            all.or(values.get(thread));
        }
        assertThat(values.subList(0, 4)).allMatch(of -> of.cardinality() == count);
        assertThat(all.cardinality()).as("distinct values").isEqualTo(all.length());
        assertThat(owner.word(offset)).isEqualTo(all.length());
    }

    /** Adds with CPU atomics, in bursts, while other threads add through the fabric. */
    private static void addAsTheOwner(TestNode owner, long offset, BitSet values, AtomicInteger others) {
        int countMax = 2_000_000;
        for (int i = 0; i < countMax && others.get() > 0; i++) {
            int before = Math.toIntExact((long) JAVA_LONG.varHandle().getAndAdd(owner.memory.segment(), offset, 1L));
            if (values.get(before)) {
                throw new AssertionError("the owner got %d a second time".formatted(before));
            }
            values.set(before);
            if (i % 1_000 == 999) {
                Deadline.pause();
            }
        }
    }

    @Test
    default void noIncrementByCompareAndSwapFromFourThreadsIsLost() {
        int count = 100;
        long offset = 128;
        TestNode owner = fabrics().open("owner");
        List<Pair> pairs = List.of(
                fabrics().connect(fabrics().open("alpha"), owner),
                fabrics().connect(fabrics().open("beta"), owner));
        List<MemorySegment> results = IntStream.range(0, 4)
                .mapToObj(thread -> pairs.get(thread % 2).from().local(8))
                .toList();
        owner.startPolling();
        pairs.forEach(pair -> pair.from().startPolling());

        Workers.run(4, thread -> {
            Pair pair = pairs.get(thread % 2);
            MemorySegment result = results.get(thread);
            long seen = 0;
            for (int done = 0; done < count; ) {
                long expected = seen;
                TestFabrics.runOn(
                        pair.from(),
                        pair.out(),
                        (to, context) -> to.compareAndSwap(offset, expected, expected + 1, result.address(), context));
                long before = result.get(JAVA_LONG, 0);
                if (before == expected) {
                    done++;
                    seen = expected + 1;
                } else {
                    seen = before;
                }
            }
        });

        assertThat(owner.word(offset)).isEqualTo(4L * count);
    }

    private long fetchAdd(Pair pair, long offset, long delta) {
        return result(pair, address -> (to, context) -> to.fetchAdd(offset, delta, address, context));
    }

    private long compareAndSwap(Pair pair, long offset, long expected, long value) {
        return result(pair, address -> (to, context) -> to.compareAndSwap(offset, expected, value, address, context));
    }

    private long result(Pair pair, LongFunction<Posted.Operation> operation) {
        FabricEndpoint out = pair.out();
        MemorySegment around = pair.from().local(24);
        around.fill((byte) 0x5A);
        fabrics().run(pair.from(), out, operation.apply(around.address() + 8));
        assertThat(around.get(JAVA_LONG, 0)).isEqualTo(0x5A5A5A5A5A5A5A5AL);
        assertThat(around.get(JAVA_LONG, 16)).isEqualTo(0x5A5A5A5A5A5A5A5AL);
        return around.get(JAVA_LONG, 8);
    }
}
