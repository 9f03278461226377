package dev.lite.cli;

import java.io.PrintWriter;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Prints bytes as {@code hexdump -C} does: 16 to a line, repeated lines as one asterisk. Used by one thread. */
final class HexDump {
    private static final int COLUMNS = 16;

    private byte @Nullable [] last;
    private boolean starred;

    /** Prints a piece; all pieces but the last have a multiple of 16 bytes. */
    void print(byte[] bytes, int length, long offset, PrintWriter out) {
        for (int at = 0; at < length; at += COLUMNS) {
            byte[] line = Arrays.copyOfRange(bytes, at, Math.min(length, at + COLUMNS));
            if (line.length == COLUMNS && Arrays.equals(line, last)) {
                if (!starred) {
                    out.println("*");
                    starred = true;
                }
                continue;
            }
            starred = false;
            last = line;
            out.println(line(line, offset + at));
        }
    }

    private static String line(byte[] bytes, long offset) {
        StringBuilder hex = new StringBuilder("%08x ".formatted(offset));
        StringBuilder text = new StringBuilder();
        for (int column = 0; column < COLUMNS; column++) {
            if (column == COLUMNS / 2) {
                hex.append(' ');
            }
            if (column < bytes.length) {
                hex.append(" %02x".formatted(bytes[column] & 0xff));
                text.append(bytes[column] >= ' ' && bytes[column] < 0x7f ? (char) bytes[column] : '.');
            } else {
                hex.append("   ");
            }
        }
        return "%s  |%s|".formatted(hex, text);
    }

    /** Prints the offset after the last byte. */
    void end(long offset, PrintWriter out) {
        out.println("%08x".formatted(offset));
        out.flush();
    }
}
