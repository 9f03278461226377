package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class HexDumpTest {
    @Test
    void repeatedLinesAreOneAsteriskAlsoAcrossPieces() {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text);
        HexDump dump = new HexDump();
        byte[] piece = new byte[64];
        System.arraycopy("Hello, world\u007f!".getBytes(StandardCharsets.UTF_8), 0, piece, 0, 14);
        dump.print(piece, 64, 0, out);
        dump.print(new byte[64], 32, 64, out);
        dump.print(new byte[] {'a', -1, 0}, 3, 96, out);
        dump.end(99, out);
        assertThat(text.toString()).isEqualTo("""
                00000000  48 65 6c 6c 6f 2c 20 77  6f 72 6c 64 7f 21 00 00  |Hello, world.!..|
                00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
                *
                00000060  61 ff 00                                          |a..|
                00000063
                """);
    }
}
