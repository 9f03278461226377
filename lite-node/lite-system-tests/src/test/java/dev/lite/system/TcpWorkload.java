package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.time.Duration;
import java.util.Random;

/** Operations of two applications at different nodes on one LMR that is spread over all nodes. */
final class TcpWorkload {
    private static final int BYTES = 21 << 20; // six chunks over three nodes, the last one not full
    private static final int ADDS = 300;

    private TcpWorkload() {}

    static void run(Lite writer, Lite reader, String name, long seed) {
        byte[] bytes = new byte[BYTES];
        new Random(seed).nextBytes(bytes);
        LmrHandle written = writer.memory()
                .malloc(
                        LmrSpec.of(BYTES)
                                .withName(name)
                                .withPlacement(Placement.spread())
                                .withDefaultPermissions(Permission.READ, Permission.ATOMIC),
                        Duration.ofSeconds(20));
        assertThat(written.extents()).extracting(Extent::node).contains("node-1", "node-2", "node-3");
        written.write(0, bytes);

        LmrHandle seen = reader.memory().map(name, Permission.READ, Permission.ATOMIC);
        byte[] read = new byte[BYTES];
        seen.read(0, read);
        assertThat(read).as("the bytes that the other application reads").isEqualTo(bytes);
        for (long word = 0; word < BYTES - 8; word += 4 << 20) {
            long before = written.fetchAdd(word, 0);
            for (int i = 0; i < ADDS; i++) {
                (i % 2 == 0 ? written : seen).fetchAdd(word, 1);
            }
            assertThat(seen.fetchAdd(word, 0)).as("word at %d", word).isEqualTo(before + ADDS);
            assertThat(written.testSet(word, before + ADDS, before)).isEqualTo(before + ADDS);
        }
        written.free();
    }
}
