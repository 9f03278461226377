package dev.lite.mr.jobs;

import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import java.util.Map;

/**
 * Multiplies two square matrices of {@code size} rows. The records are the rows of the left one, 32-bit numbers; the file of the parameter
 * {@code right} has the right one. Key: the place of the row, see {@link Places}. Value: the row of the product, 32-bit numbers.
 */
public final class MatrixMultiply extends Job {
    private int[][] right = {};
    private Slice product = new Slice();
    private final Slice place = Places.empty();

    /** For LITE-MR. */
    public MatrixMultiply() {}

    @Override
    public void setup(Map<String, String> parameters) {
        int size = Parameters.number(parameters, "size");
        right = Parameters.matrix(parameters, "right", size);
        if (right.length != size) {
            throw new IllegalArgumentException(
                    "the right matrix has %d rows of %d numbers; it must be square".formatted(right.length, size));
        }
        product = Slice.of(new byte[size * Integer.BYTES]);
    }

    @Override
    public void map(InputRecord record, Emitter out) {
        int[] sums = new int[right.length];
        for (int i = 0; i < right.length; i++) {
            int factor = record.getInt(i * Integer.BYTES);
            int[] row = right[i];
            for (int column = 0; column < sums.length; column++) {
                sums[column] += factor * row[column];
            }
        }
        for (int column = 0; column < sums.length; column++) {
            product.putInt(column * Integer.BYTES, sums[column]);
        }
        Places.set(place, record);
        out.emit(place, product);
    }

    @Override
    public void format(Slice key, Slice value, StringBuilder line) {
        for (int i = 0; i < value.length(); i += Integer.BYTES) {
            line.append(i == 0 ? "" : " ").append(value.getInt(i));
        }
    }
}
