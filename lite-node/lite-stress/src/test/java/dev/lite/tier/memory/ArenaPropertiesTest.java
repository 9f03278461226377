package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;

/** Properties of free runs and layouts; jqwik prints the seed and the smallest failing case. */
class ArenaPropertiesTest {
    private static final int GRANULE = 64;
    private static final int GRANULES = 512;
    private static final UUID ARENA = new UUID(1, 2);

    /** A step allocates memory, or frees the memory of an earlier step. */
    @Property(tries = 300)
    void freeRunsNeverAllocateAByteTwiceAndLoseNone(
            @ForAll @Size(max = 60) List<@IntRange(min = 0, max = 9_999) Integer> steps) {
        FreeRuns runs = new FreeRuns();
        runs.add(0, GRANULES * GRANULE);
        BitSet free = new BitSet();
        free.set(0, GRANULES);
        List<FreeRuns.Run> taken = new ArrayList<>();
        for (int step : steps) {
            if (step % 3 == 0 && !taken.isEmpty()) {
                FreeRuns.Run back = taken.remove(step / 3 % taken.size());
                runs.add(back.offset(), back.length());
                free.set(granule(back.offset()), granule(back.offset() + back.length()));
                continue;
            }
            int unit = GRANULE * (1 + step % 7);
            int units = 1 + step / 7 % 5;
            long alignment = (long) GRANULE << (step / 35 % 4);
            FreeRuns.Run run = runs.take(unit, units, alignment);
            if (run != null) {
                assertThat(run.offset() % alignment).isZero();
                assertThat(run.length() % unit).isZero();
                assertThat(run.length()).isBetween((long) unit, (long) unit * units);
                int from = granule(run.offset());
                int to = granule(run.offset() + run.length());
                assertThat(free.nextClearBit(from)).as("all of it was free").isGreaterThanOrEqualTo(to);
                free.clear(from, to);
                taken.add(run);
            }
            assertThat(runs.total()).isEqualTo((long) free.cardinality() * GRANULE);
            assertThat(runs.longest()).isEqualTo(longestFree(free));
        }
    }

    private static int granule(long offset) {
        return (int) (offset / GRANULE);
    }

    private static long longestFree(BitSet free) {
        int longest = 0;
        for (int from = free.nextSetBit(0); from >= 0; from = free.nextSetBit(free.nextClearBit(from))) {
            longest = Math.max(longest, free.nextClearBit(from) - from);
        }
        return (long) longest * GRANULE;
    }

    @Property(tries = 500)
    void everyByteOfAnLmrHasExactlyOneAddress(
            @ForAll @LongRange(min = 1, max = 200L << 20) long size,
            @ForAll @IntRange(min = 1, max = 9) int nodes,
            @ForAll @Size(max = 20) List<@LongRange(min = 0, max = Long.MAX_VALUE) Long> offsets) {
        int shift = Layout.chunkShift(size, nodes);
        LmrRecord lmr = record(size, shift, nodes);
        List<Extent> extents = Layout.extents(lmr, node -> "n" + node);
        long end = 0;
        for (Extent extent : extents) {
            assertThat(extent.offset()).isEqualTo(end);
            assertThat(extent.length()).isPositive();
            end += extent.length();
        }
        assertThat(end).isEqualTo(size);

        // Every node's arena has its own base, so that an address identifies node and offset.
        long[] places = Layout.places(lmr, node -> base(node));
        for (long any : offsets) {
            long offset = any % size;
            long place = places[(int) (offset >>> shift)] + (offset & ((1L << shift) - 1));
            Extent extent = extents.stream()
                    .filter(one -> offset >= one.offset() && offset < one.offset() + one.length())
                    .findFirst()
                    .orElseThrow();
            int node = (int) (place >>> 40) - 1;
            assertThat("n" + node).isEqualTo(extent.node());
            // The chunks of a share are contiguous here: chunk k starts at k times the chunk size.
            long chunk = offset >>> shift;
            long expected = chunk / lmr.shares().size() * chunkBytes(size, shift) + (offset & ((1L << shift) - 1));
            assertThat(place - base(node)).isEqualTo(expected);
        }
    }

    private static long base(int node) {
        return (node + 1L) << 40;
    }

    private static long chunkBytes(long size, int shift) {
        return Math.min(size, 1L << shift);
    }

    /** One run for each share, from the start of its arena; the last, shorter chunk of the LMR has its own run. */
    private static LmrRecord record(long size, int shift, int nodes) {
        long chunks = ((size - 1) >>> shift) + 1;
        int count = (int) Math.min(nodes, chunks);
        long tail = size - (chunks - 1) * chunkBytes(size, shift);
        List<Share> shares = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            long ofShare = (chunks - index + count - 1) / count;
            boolean last = (chunks - 1) % count == index;
            List<Run> runs = new ArrayList<>();
            long whole = (last ? ofShare - 1 : ofShare) * chunkBytes(size, shift);
            if (whole > 0) {
                runs.add(new Run(0, whole, 1));
            }
            if (last) {
                runs.add(new Run(whole, tail, 2));
            }
            shares.add(new Share(index, ARENA, runs));
        }
        return new LmrRecord(7, LmrRecord.State.LIVE, size, shift, 0, Map.of(), shares);
    }
}
