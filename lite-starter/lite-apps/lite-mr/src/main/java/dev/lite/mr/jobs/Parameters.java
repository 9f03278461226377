package dev.lite.mr.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Reads parameters of jobs. */
final class Parameters {
    private Parameters() {}

    static String required(Map<String, String> parameters, String name) {
        String value = parameters.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the parameter \"%s\" is missing".formatted(name));
        }
        return value;
    }

    static int number(Map<String, String> parameters, String name) {
        String value = required(parameters, name);
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("the parameter \"%s\" is \"%s\", no number".formatted(name, value), e);
        }
    }

    /** The file that a parameter names: 32-bit numbers, little-endian, in rows of {@code columns}. */
    static int[][] matrix(Map<String, String> parameters, String name, int columns) {
        Path file = Path.of(required(parameters, name));
        try {
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
            long rowBytes = (long) columns * Integer.BYTES;
            if (columns < 1 || bytes.remaining() % rowBytes != 0) {
                throw new IllegalArgumentException("the matrix in %s has %d bytes; these are not rows of %d numbers"
                        .formatted(file, bytes.remaining(), columns));
            }
            int[][] rows = new int[(int) (bytes.remaining() / rowBytes)][columns];
            for (int[] row : rows) {
                for (int i = 0; i < columns; i++) {
                    row[i] = bytes.getInt();
                }
            }
            return rows;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the matrix in %s: %s".formatted(file, e), e);
        }
    }
}
