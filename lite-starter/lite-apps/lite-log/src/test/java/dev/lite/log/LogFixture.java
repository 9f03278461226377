package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.embedded.EmbeddedCluster;
import dev.lite.testing.Waits;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Embedded nodes, and logs in sessions with them. Closes everything. One thread. */
final class LogFixture implements AutoCloseable {
    private static final Duration DEADLINE = Waits.seconds(20);

    final EmbeddedCluster cluster;
    private final List<AutoCloseable> open = new ArrayList<>();

    LogFixture(int nodes) {
        cluster = EmbeddedCluster.start(nodes, 64 << 20);
    }

    /** A session with a node, from 0. */
    Lite session(int node) {
        Lite lite = cluster.nodes().get(node).attach("log-test");
        open.add(lite);
        return lite;
    }

    LiteLogs logs(int node) {
        return new LiteLogs(session(node), DEADLINE);
    }

    LiteLog create(String name, LogSpec spec) {
        return logs(0).create(name, spec);
    }

    /** Segments of 8 KiB, so that tests use many. */
    static LogSpec small() {
        return LogSpec.defaults().withSegmentBytes(8 << 10).withRetentionBytes(1 << 20);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The texts of all transactions that are there; the entries of one are joined by "+". */
    static List<String> read(LogReader reader) {
        List<String> texts = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        while (reader.poll(
                        (position, memory, offset, length, last) -> {
                            byte[] entry =
                                    memory.asSlice(offset, length).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
                            text.append(new String(entry, StandardCharsets.UTF_8))
                                    .append(last ? "" : "+");
                            if (last) {
                                texts.add(text.toString());
                                text.setLength(0);
                            }
                        },
                        7)
                > 0) {
            assertThat(texts).hasSizeLessThan(1_000_000);
        }
        return texts;
    }

    @Override
    public void close() throws java.io.IOException {
        for (AutoCloseable each : open.reversed()) {
            ((Lite) each).close();
        }
        cluster.close();
    }
}
