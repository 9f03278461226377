package dev.lite.fabric.rdma;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SortedSet;
import java.util.TreeSet;

/** Reads which symbols a library exports and which libraries it needs, from a 64-bit little-endian ELF file. */
final class ElfFile {
    private static final int SECTIONS_AT = 40;
    private static final int SECTION_BYTES_AT = 58;
    private static final int SECTION_COUNT_AT = 60;
    private static final int TYPE_DYNAMIC = 6;
    private static final int TYPE_DYNAMIC_SYMBOLS = 11;
    private static final int SYMBOL_BYTES = 24;
    private static final int DYNAMIC_BYTES = 16;
    private static final int NEEDED = 1;

    private final ByteBuffer bytes;

    private ElfFile(ByteBuffer bytes) {
        this.bytes = bytes.order(ByteOrder.LITTLE_ENDIAN);
    }

    static ElfFile read(Path file) {
        try {
            return new ElfFile(ByteBuffer.wrap(Files.readAllBytes(file)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The exported symbols. */
    SortedSet<String> exportedSymbols() {
        var names = new TreeSet<String>();
        int section = section(TYPE_DYNAMIC_SYMBOLS);
        int strings = stringsOf(section);
        for (int symbol = start(section); symbol < end(section); symbol += SYMBOL_BYTES) {
            boolean defined = bytes.getShort(symbol + 6) != 0;
            if (defined) {
                names.add(string(strings + bytes.getInt(symbol)));
            }
        }
        return names;
    }

    /** The libraries that it needs. */
    SortedSet<String> neededLibraries() {
        var names = new TreeSet<String>();
        int section = section(TYPE_DYNAMIC);
        int strings = stringsOf(section);
        for (int entry = start(section); entry < end(section); entry += DYNAMIC_BYTES) {
            if (bytes.getLong(entry) == NEEDED) {
                names.add(string(strings + (int) bytes.getLong(entry + 8)));
            }
        }
        return names;
    }

    private int section(int type) {
        for (int index = 0; index < bytes.getShort(SECTION_COUNT_AT); index++) {
            if (bytes.getInt(header(index) + 4) == type) {
                return index;
            }
        }
        throw new AssertionError("no section of type " + type);
    }

    private int header(int index) {
        return (int) bytes.getLong(SECTIONS_AT) + index * bytes.getShort(SECTION_BYTES_AT);
    }

    private int start(int section) {
        return (int) bytes.getLong(header(section) + 24);
    }

    private int end(int section) {
        return start(section) + (int) bytes.getLong(header(section) + 32);
    }

    private int stringsOf(int section) {
        return start(bytes.getInt(header(section) + 40));
    }

    private String string(int at) {
        int end = at;
        while (bytes.get(end) != 0) {
            end++;
        }
        byte[] name = new byte[end - at];
        bytes.get(at, name);
        return new String(name, StandardCharsets.US_ASCII);
    }
}
