package dev.lite.mr.jobs;

import dev.lite.mr.Input;
import dev.lite.mr.JobSpec;
import dev.lite.mr.MapReduce;
import dev.lite.mr.RecordFormat;
import dev.lite.mr.job.Slice;
import java.nio.file.Path;
import java.util.List;

/** PCA as the suite has it: the covariance matrix of the rows of a matrix. */
public final class PrincipalComponents {
    private PrincipalComponents() {}

    /**
     * Computes the covariances by {@link Covariance}.
     *
     * @param matrix 32-bit numbers, little-endian, in rows of {@code columns}
     * @return a row for each row of the matrix: its covariance with itself and each later one
     */
    public static List<long[]> covariances(MapReduce master, Path matrix, int columns) {
        return master
                .run(JobSpec.of(Covariance.class, Input.file(matrix))
                        .withFormat(RecordFormat.fixed(0, columns * Integer.BYTES))
                        .withParameter("matrix", matrix.toAbsolutePath().toString())
                        .withParameter("columns", Integer.toString(columns)))
                .pairs()
                .stream()
                .map(pair -> numbers(pair.value()))
                .toList();
    }

    private static long[] numbers(Slice slice) {
        long[] numbers = new long[slice.length() / Long.BYTES];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = slice.getLong(i * Long.BYTES);
        }
        return numbers;
    }
}
