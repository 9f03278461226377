package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.mr.job.Slice;
import dev.lite.mr.jobs.Grep;
import dev.lite.mr.jobs.Histogram;
import dev.lite.mr.jobs.InvertedIndex;
import dev.lite.mr.jobs.KMeans;
import dev.lite.mr.jobs.LinearRegression;
import dev.lite.mr.jobs.MatrixMultiply;
import dev.lite.mr.jobs.Places;
import dev.lite.mr.jobs.PrincipalComponents;
import dev.lite.mr.jobs.Sort;
import dev.lite.mr.jobs.StringMatch;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each job of the suite, compared with a plain program with one thread. Word count has a test of its own. */
class PhoenixSuiteTest {
    private static final long SEED = 42;

    @TempDir
    Path directory;

    private final TestCluster cluster = TestCluster.start(2, 64 << 20);
    private final MapReduce master = cluster.master(cluster.embedded(0));
    private final Random random = new Random(SEED);

    @BeforeEach
    void startWorkers() {
        cluster.worker(0, 1);
        cluster.worker(1, 1);
        TestCluster.awaitWorkers(master, 2);
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    private Path text(String name, int lines) {
        return TestTexts.write(directory.resolve(name), random.nextLong(), lines);
    }

    private Path write(String name, byte[] bytes) throws IOException {
        return Files.write(directory.resolve(name), bytes);
    }

    private byte[] randomBytes(int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }

    private static JobSpec small(JobSpec spec) {
        return spec.withSplitBytes(3_001).withPartitions(3);
    }

    @Test
    void grep() {
        Path file = text("text", 1_000);
        JobResult result =
                master.run(small(JobSpec.of(Grep.class, Input.file(file))).withParameter("pattern", "w1\\d7 .*größer"));
        Map<Long, String> expected = new TreeMap<>();
        long position = 0;
        for (String line : TestTexts.read(file).split("\n", -1)) {
            if (line.matches(".*w1\\d7 .*größer.*")) {
                expected.put(position, line);
            }
            position += line.getBytes(StandardCharsets.UTF_8).length + 1;
        }
        Map<Long, String> found = new TreeMap<>();
        result.pairs()
                .forEach(pair ->
                        found.put(Places.position(pair.key()), pair.value().text()));
        assertThat(found).isEqualTo(expected).isNotEmpty();
        assertThat(result.pairs()).hasSize(expected.size());
    }

    @Test
    void sort() throws IOException {
        Path file = text("text", 3_000);
        Path out = directory.resolve("sorted");
        master.run(small(JobSpec.of(Sort.class, Input.file(file))).withOutput(Output.file(out)));
        List<byte[]> expected = new ArrayList<>();
        Files.readAllLines(file).forEach(line -> expected.add(line.getBytes(StandardCharsets.UTF_8)));
        expected.sort(Arrays::compareUnsigned);
        List<String> lines = expected.stream()
                .map(line -> new String(line, StandardCharsets.UTF_8))
                .toList();
        assertThat(Files.readAllLines(out)).isEqualTo(lines);
    }

    @Test
    void invertedIndex() {
        Path[] files = {text("a", 20), text("b", 30), text("c", 400)};
        JobResult result = master.run(small(JobSpec.of(
                InvertedIndex.class, Arrays.stream(files).map(Input::file).toArray(Input[]::new))));
        Map<String, TreeSet<Integer>> index = new TreeMap<>();
        for (int i = 0; i < files.length; i++) {
            for (String word : TestTexts.countWords(files[i]).keySet()) {
                index.computeIfAbsent(word, key -> new TreeSet<>()).add(i);
            }
        }
        Map<String, String> expected = new TreeMap<>();
        index.forEach((word, inputs) ->
                expected.put(word, inputs.stream().map(Object::toString).collect(Collectors.joining(" "))));
        Map<String, String> found = new TreeMap<>();
        result.pairs().forEach(pair -> found.put(pair.key().text(), pair.value().text()));
        assertThat(found).isEqualTo(expected);
    }

    @Test
    void histogram() throws IOException {
        int header = 54;
        byte[] bitmap = randomBytes(header + 3 * 5_000);
        JobResult result = master.run(small(JobSpec.of(Histogram.class, Input.file(write("bitmap", bitmap))))
                .withFormat(RecordFormat.fixed(header, 3)));
        long[][] expected = new long[3][256];
        for (int i = header; i < bitmap.length; i++) {
            expected[(i - header) % 3][bitmap[i] & 0xff]++;
        }
        long[][] found = new long[3][256];
        result.pairs()
                .forEach(pair -> found[pair.key().byteAt(0)][pair.key().byteAt(1) & 0xff] =
                        pair.value().getLong(0));
        assertThat(found).isDeepEqualTo(expected);
    }

    @Test
    void stringMatch() throws IOException {
        Path file = write("words", "alpha\nbeta\ngamma\nalpha\nalphabet\ndelta\nalp".getBytes(StandardCharsets.UTF_8));
        String keys = List.of("alpha", "delta", "nothing").stream()
                .map(word -> {
                    byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
                    byte[] scrambled = new byte[bytes.length];
                    StringMatch.scramble(bytes, 0, bytes.length, scrambled);
                    return HexFormat.of().formatHex(scrambled);
                })
                .collect(Collectors.joining(","));
        JobResult result = master.run(JobSpec.of(StringMatch.class, Input.file(file))
                .withSplitBytes(5)
                .withParameter("keys", keys));
        assertThat(TestTexts.counts(result)).isEqualTo(Map.of("alpha", 2L, "delta", 1L));
    }

    @Test
    void linearRegression() throws IOException {
        byte[] points = randomBytes(2 * 10_000);
        JobResult result = master.run(small(JobSpec.of(LinearRegression.class, Input.file(write("points", points))))
                .withFormat(RecordFormat.fixed(0, 2)));
        long[] sums = new long[6];
        for (int i = 0; i < points.length; i += 2) {
            long x = points[i];
            long y = points[i + 1];
            long[] more = {1, x, y, x * x, y * y, x * y};
            for (int j = 0; j < sums.length; j++) {
                sums[j] += more[j];
            }
        }
        assertThat(result.pairs()).hasSize(1);
        Slice found = result.pairs().getFirst().value();
        assertThat(found).isEqualTo(Slice.of(sums));
        double n = sums[0];
        double slope = (n * sums[5] - (double) sums[1] * sums[2]) / (n * sums[3] - (double) sums[1] * sums[1]);
        assertThat(LinearRegression.line(found))
                .isEqualTo(new LinearRegression.Line(slope, (sums[2] - slope * sums[1]) / n));
    }

    private int[][] randomMatrix(int rows, int columns) {
        int[][] matrix = new int[rows][columns];
        for (int[] row : matrix) {
            Arrays.setAll(row, i -> random.nextInt(1_000));
        }
        return matrix;
    }

    private static byte[] bytes(int[][] matrix) {
        ByteBuffer bytes = ByteBuffer.allocate(matrix.length * matrix[0].length * Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
        for (int[] row : matrix) {
            Arrays.stream(row).forEach(bytes::putInt);
        }
        return bytes.array();
    }

    @Test
    void kMeans() throws IOException {
        int[][] points = randomMatrix(2_000, 3);
        int[][] start = randomMatrix(7, 3);
        int[][] found = KMeans.cluster(master, Input.file(write("points", bytes(points))), start, 5);
        int[][] means = Arrays.stream(start).map(int[]::clone).toArray(int[][]::new);
        for (int step = 0; step < 5; step++) {
            long[][] sums = new long[means.length][4];
            for (int[] point : points) {
                long[] nearest = sums[nearest(means, point)];
                nearest[3]++;
                for (int i = 0; i < 3; i++) {
                    nearest[i] += point[i];
                }
            }
            for (int mean = 0; mean < means.length; mean++) {
                for (int i = 0; i < 3 && sums[mean][3] > 0; i++) {
                    means[mean][i] = (int) (sums[mean][i] / sums[mean][3]);
                }
            }
        }
        assertThat(found).isDeepEqualTo(means);
    }

    @Test
    void kMeansOfPointsWhoseDistancesHaveMoreThan64Bits() throws IOException {
        int far = Integer.MAX_VALUE;
        int[][] points = {{-far, -far, -far}, {far, far, far}, {far, far, -far}, {0, 0, 0}};
        int[][] start = {{-far, -far, 1 - far}, {far, far, far - 1}, {1, 1, 1}};
        int[][] found = KMeans.cluster(master, Input.file(write("points", bytes(points))), start, 1);
        // The third point is nearer to the third mean.
        assertThat(found).isDeepEqualTo(new int[][] {{-far, -far, -far}, {far, far, far}, {far / 2, far / 2, -far / 2}
        });
    }

    private static int nearest(int[][] means, int[] point) {
        int nearest = 0;
        for (int mean = 1; mean < means.length; mean++) {
            if (distance(means[mean], point) < distance(means[nearest], point)) {
                nearest = mean;
            }
        }
        return nearest;
    }

    private static long distance(int[] one, int[] other) {
        long sum = 0;
        for (int i = 0; i < one.length; i++) {
            sum += (long) (one[i] - other[i]) * (one[i] - other[i]);
        }
        return sum;
    }

    @Test
    void matrixMultiplication() throws IOException {
        int size = 37;
        int[][] left = randomMatrix(size, size);
        int[][] right = randomMatrix(size, size);
        JobResult result = master.run(small(JobSpec.of(MatrixMultiply.class, Input.file(write("left", bytes(left)))))
                .withFormat(RecordFormat.fixed(0, size * Integer.BYTES))
                .withParameter("size", Integer.toString(size))
                .withParameter("right", write("right", bytes(right)).toString()));
        int[][] expected = new int[size][size];
        for (int row = 0; row < size; row++) {
            for (int column = 0; column < size; column++) {
                for (int i = 0; i < size; i++) {
                    expected[row][column] += left[row][i] * right[i][column];
                }
            }
        }
        List<Slice> rows = result.pairs().stream().map(JobResult.Pair::value).toList();
        assertThat(rows)
                .isEqualTo(Arrays.stream(expected)
                        .map(row -> Slice.of(bytes(new int[][] {row})))
                        .toList());
    }

    @Test
    void principalComponents() throws IOException {
        int columns = 11;
        int[][] matrix = randomMatrix(40, columns);
        List<long[]> found = PrincipalComponents.covariances(master, write("matrix", bytes(matrix)), columns);
        assertThat(found).hasSize(matrix.length);
        for (int row = 0; row < matrix.length; row++) {
            long[] expected = new long[matrix.length - row];
            for (int other = row; other < matrix.length; other++) {
                long mean = Arrays.stream(matrix[row]).sum() / columns;
                long otherMean = Arrays.stream(matrix[other]).sum() / columns;
                for (int i = 0; i < columns; i++) {
                    expected[other - row] += (matrix[row][i] - mean) * (matrix[other][i] - otherMean);
                }
                expected[other - row] /= columns - 1;
            }
            assertThat(found.get(row)).as("row %d", row).isEqualTo(expected);
        }
    }
}
