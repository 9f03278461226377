package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Extent;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.testing.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class LayoutTest {
    private static final UUID ARENA = new UUID(1, 2);
    private static final long[] SIZES = {
        1,
        7,
        8,
        63,
        64,
        65,
        4095,
        4096,
        4097,
        8192,
        12288,
        61_440,
        1 << 20,
        (4 << 20) - 1,
        4 << 20,
        (4 << 20) + 1,
        12 << 20,
        (12 << 20) + 1,
        100_000_000,
        5L << 30,
        (1L << 40) + 12_345
    };

    /** The positions of an LMR's bytes by definition: chunk i is chunk i / shares of share i % shares. */
    private record Model(LmrRecord lmr, List<List<long[]>> chunksOfShares) {
        long[] nodeAndOffset(long at) {
            long chunk = at >>> lmr.chunkShift();
            int shares = lmr.shares().size();
            long[] start = chunksOfShares.get((int) (chunk % shares)).get((int) (chunk / shares));
            return new long[] {start[0], start[1] + (at - (chunk << lmr.chunkShift()))};
        }
    }

    private static Model model(Random random, long size, int shift, int nodes) {
        long chunkBytes = 1L << shift;
        long chunks = ((size - 1) >>> shift) + 1;
        int shares = (int) Math.min(nodes, chunks);
        List<List<long[]>> chunksOfShares = new ArrayList<>();
        List<Share> shareList = new ArrayList<>();
        for (int share = 0; share < shares; share++) {
            long left = (chunks - share + shares - 1) / shares;
            boolean hasTail = (chunks - 1) % shares == share;
            int node = 3 * share + 1;
            long at = 4096L * (1 + random.nextInt(1000));
            List<long[]> places = new ArrayList<>();
            List<Run> runs = new ArrayList<>();
            long whole = hasTail ? left - 1 : left;
            while (whole > 0) {
                long count = 1 + random.nextLong(Math.min(whole, 1 + random.nextInt(1000)));
                runs.add(new Run(at, count * chunkBytes, runs.size()));
                for (long chunk = 0; chunk < count; chunk++) {
                    places.add(new long[] {node, at + chunk * chunkBytes});
                }
                whole -= count;
                at += count * chunkBytes + 4096L * random.nextInt(3);
            }
            if (hasTail) {
                long tail = size - (chunks - 1) * chunkBytes;
                runs.add(new Run(at, Math.ceilDiv(tail, 64L) * 64, runs.size()));
                places.add(new long[] {node, at});
            }
            shareList.add(new Share(node, ARENA, runs));
            chunksOfShares.add(places);
        }
        return new Model(record(size, shift, shareList), chunksOfShares);
    }

    private static LmrRecord record(long size, int shift, List<Share> shares) {
        return new LmrRecord(1, LmrRecord.State.LIVE, size, shift, 0, Map.of(), shares);
    }

    private static long size(Random random) {
        long size = random.nextBoolean()
                ? SIZES[random.nextInt(SIZES.length)]
                : 1 + random.nextLong(1L << (1 + random.nextInt(33)));
        return Math.min(size, 1L << 33);
    }

    @Test
    void eachByteIsMappedToAPositionInsideItsRun() {
        Seeds.forEach(200, random -> {
            long size = size(random);
            int nodes = 1 + random.nextInt(5);
            LmrRecord lmr =
                    model(random, size, Layout.chunkShift(size, nodes), nodes).lmr();
            MappedPlaces where = new MappedPlaces(lmr, Layout.places(lmr, node -> 0));
            for (int probe = 0; probe < 100; probe++) {
                long at = probe == 0 ? size - 1 : random.nextLong(size);
                RemoteWork.Part part = where.part(at);
                assertThat(part.node()).isEqualTo(Layout.nodeOf(where.place(at)));
                assertThat(part.offset()).isEqualTo(Layout.offsetOf(where.place(at)));
                Run run = lmr.shares().stream()
                        .filter(share -> share.node() == part.node())
                        .flatMap(share -> share.runs().stream())
                        .filter(candidate -> candidate.entry() == part.entry())
                        .findFirst()
                        .orElseThrow();
                long length = where.pieceLength(at, size - at);
                assertThat(part.offset()).isBetween(run.offset(), run.offset() + run.length() - length);
                long before = where.pieceLengthBefore(at + 1, at + 1);
                assertThat(where.place(at + 1 - before)).isEqualTo(where.place(at) + 1 - before);
            }
        });
    }

    @Test
    void everyByteIsInTheShareOfItsChunk() {
        Seeds.forEach(400, random -> {
            long size = size(random);
            int nodes = 1 + random.nextInt(5);
            Model model = model(random, size, Layout.chunkShift(size, nodes), nodes);
            long mappedBase = 1L << 46;
            boolean mapped = random.nextBoolean();
            // Only the node of the first share may be mapped.
            long[] places = Layout.places(model.lmr(), node -> mapped && node == 1 ? mappedBase : 0);
            assertThat(places).hasSize(model.lmr().chunks());
            for (int probe = 0; probe < 200; probe++) {
                long at = switch (probe) {
                    case 0 -> 0;
                    case 1 -> size - 1;
                    default -> random.nextLong(size);
                };
                long[] expected = model.nodeAndOffset(at);
                int shift = model.lmr().chunkShift();
                long place = places[(int) (at >>> shift)] + (at & ((1L << shift) - 1));
                if (mapped && expected[0] == 1) {
                    assertThat(Layout.isRemote(place)).isFalse();
                    assertThat(place).isEqualTo(mappedBase + expected[1]);
                } else {
                    assertThat(Layout.isRemote(place)).isTrue();
                    assertThat(Layout.nodeOf(place)).isEqualTo((int) expected[0]);
                    assertThat(Layout.offsetOf(place)).isEqualTo(expected[1]);
                }
            }
        });
    }

    @Test
    void theExtentsCoverTheWholeLmrWithoutGapOrOverlapAndNameTheRightNodes() {
        Seeds.forEach(400, random -> {
            long size = size(random);
            int nodes = 1 + random.nextInt(5);
            Model model = model(random, size, Layout.chunkShift(size, nodes), nodes);
            List<Extent> extents = Layout.extents(model.lmr(), node -> "n" + node);
            long at = 0;
            String former = "";
            for (Extent extent : extents) {
                assertThat(extent.offset()).isEqualTo(at);
                assertThat(extent.length()).isPositive();
                assertThat(extent.node()).isEqualTo("n" + model.nodeAndOffset(at)[0]);
                assertThat(extent.node()).isEqualTo("n" + model.nodeAndOffset(at + extent.length() - 1)[0]);
                assertThat(extent.node())
                        .as("adjacent extents on one node are joined")
                        .isNotEqualTo(former);
                former = extent.node();
                at += extent.length();
            }
            assertThat(at).isEqualTo(size);
        });
    }

    @Test
    void aSpreadLmrOfAtLeastOnePagePerNodeUsesEveryNode() {
        Seeds.forEach(2000, random -> {
            int nodes = 2 + random.nextInt(15);
            long size = 4096L * nodes + random.nextLong(1L << (1 + random.nextInt(34)));
            int shift = Layout.chunkShift(size, nodes);
            long chunks = ((size - 1) >>> shift) + 1;
            assertThat(chunks)
                    .as("%d bytes on %d nodes in chunks of %d", size, nodes, 1L << shift)
                    .isGreaterThanOrEqualTo(nodes);
        });
    }

    @Test
    void aSmallLmrIsOneExtentAndALargeOneHasChunksOfFourMebibytes() {
        assertThat(Layout.chunkShift(1, 1)).isEqualTo(62);
        assertThat(Layout.chunkShift(4 << 20, 1)).isEqualTo(62);
        assertThat(Layout.chunkShift((4 << 20) + 1, 1)).isEqualTo(22);
        assertThat(Layout.chunkShift(1L << 40, 7)).isEqualTo(22);
        assertThat(Layout.chunkShift(4096, 3)).isEqualTo(62);
        assertThat(Layout.chunkShift(1, 3)).isEqualTo(62);
    }

    @Test
    void remotePositionsKeepNodeAndOffsetUpToTheirLimits() {
        Map<Integer, Long> cases = new HashMap<>();
        cases.put(0, 0L);
        cases.put(1023, (1L << 48) - 1);
        cases.put(5, 1L << 47);
        cases.forEach((node, offset) -> {
            long place = Layout.remotePlace(node, offset);
            assertThat(Layout.isRemote(place)).isTrue();
            assertThat(Layout.nodeOf(place)).isEqualTo(node);
            assertThat(Layout.offsetOf(place)).isEqualTo(offset);
        });
    }

    @Test
    void aRecordWithTooFewRunsForItsSizeIsRefused() {
        LmrRecord lmr = record(3L << 22, 22, List.of(new Share(0, ARENA, List.of(new Run(4096, 2L << 22, 0)))));
        assertThatThrownBy(() -> Layout.places(lmr, node -> 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(
                        "node 0 holds fewer chunks than its record of %d bytes needs".formatted(3L << 22));
    }
}
