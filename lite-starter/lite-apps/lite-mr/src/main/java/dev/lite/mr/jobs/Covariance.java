package dev.lite.mr.jobs;

import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import java.util.Arrays;
import java.util.Map;

/**
 * The covariance matrix of the rows of a matrix, which is the work of PCA in the suite. The records are rows of {@code columns} 32-bit
 * numbers; the file of the parameter {@code matrix} has all of them, for the other row of each pair. Means are whole numbers, as in the
 * suite. Key: the place of the row, see {@link Places}. Value: its covariance with itself and each later row, 64-bit numbers.
 */
public final class Covariance extends Job {
    private int[][] rows = {};
    private long[] means = {};
    private final Slice place = Places.empty();

    /** For LITE-MR. */
    public Covariance() {}

    @Override
    public void setup(Map<String, String> parameters) {
        int columns = Parameters.number(parameters, "columns");
        rows = Parameters.matrix(parameters, "matrix", columns);
        means = Arrays.stream(rows)
                .mapToLong(row -> Arrays.stream(row).asLongStream().sum() / columns)
                .toArray();
    }

    @Override
    public void map(InputRecord record, Emitter out) {
        int columns = record.length() / Integer.BYTES;
        int first = (int) (record.position() / record.length());
        Slice covariances = Slice.of(new long[rows.length - first]);
        for (int other = first; other < rows.length; other++) {
            long sum = 0;
            for (int i = 0; i < columns; i++) {
                sum += (record.getInt(i * Integer.BYTES) - means[first]) * (rows[other][i] - means[other]);
            }
            covariances.putLong((other - first) * Long.BYTES, sum / (columns - 1));
        }
        Places.set(place, record);
        out.emit(place, covariances);
    }

    @Override
    public void format(Slice key, Slice value, StringBuilder line) {
        for (int i = 0; i < value.length(); i += Long.BYTES) {
            line.append(i == 0 ? "" : " ").append(value.getLong(i));
        }
    }
}
