package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class ReportTest {

    private static final String STORE = """
            node=node-1
            sha256=aa
            words.replied=7
            counted=2
            counted.0.node=node-1
            counted.0.extents=1
            counted.0.words=3
            counted.1.node=node-2
            counted.1.extents=1
            counted.1.words=4
            nodes=2
            node.0.name=node-1
            node.0.id=1
            node.0.arena-bytes=33554432
            node.0.fabric=local
            node.1.name=node-2
            node.1.id=2
            node.1.arena-bytes=33554432
            node.1.fabric=shm
            extents=2
            extent.0.node=node-1
            extent.0.offset=0
            extent.0.length=60
            extent.1.node=node-2
            extent.1.offset=60
            extent.1.length=40
            comparisons=0
            latency.node=node-2
            latencies=1
            latency.0.operation=read
            latency.0.bytes=64
            latency.0.median-ns=1500
            latency.0.p99-ns=9000
            """;

    private static final String COMPARE = """
            node=node-2
            sha256=aa
            words=7
            comparisons=1
            comparison.0.what=SHA-256 of the disk
            comparison.0.expected=aa
            comparison.0.found=aa
            """;

    @Test
    void reportsTheNodesOfTheFileAndThatEveryComparisonHeld() throws IOException {
        Report report = report(STORE, COMPARE, OptionalLong.of(7));
        assertThat(report.allHeld()).isTrue();
        assertThat(report.text())
                .contains("node-2        2     32.0 MiB   shm")
                .contains("node-1            1     60 bytes   60.0 %")
                .contains("words     7, counted on the nodes that hold them:")
                .containsPattern(" 3 in 1 call to node-1")
                .containsPattern(" 4 in 1 call to node-2")
                .contains("wc -w     7")
                .contains("1.50")
                .contains("9.00")
                .doesNotContain("DIFFERENT");
    }

    @Test
    void everyDifferenceIsFoundAndReported() throws IOException {
        assertThat(report(STORE, COMPARE, OptionalLong.of(8)).text())
                .contains("DIFFERENT words by wc -w and the shared word: expected 8, found 7");
        assertThat(report(STORE, COMPARE, OptionalLong.of(8)).allHeld()).isFalse();
        assertThat(report(STORE.replace("sha256=aa", "sha256=ab"), COMPARE, OptionalLong.of(7))
                        .allHeld())
                .isFalse();
        assertThat(report(STORE, COMPARE.replace("found=aa", "found=bb"), OptionalLong.of(7))
                        .allHeld())
                .isFalse();
        assertThat(report(STORE.replace("length=40", "length=39"), COMPARE, OptionalLong.of(7))
                        .allHeld())
                .isFalse();
        assertThat(report(STORE.replace("words.replied=7", "words.replied=8"), COMPARE, OptionalLong.of(7))
                        .allHeld())
                .isFalse();
    }

    @Test
    void withoutWcItReportsThatNothingWasCompared() throws IOException {
        Report report = report(STORE, COMPARE, OptionalLong.empty());
        assertThat(report.allHeld()).isTrue();
        assertThat(report.text()).contains("not compared: this machine has no wc");
    }

    private static Report report(String store, String compare, OptionalLong words) throws IOException {
        DemoSettings settings =
                new DemoSettings(Path.of("/x"), 100, false, "shm", Path.of("m"), Path.of("n"), Path.of("a"));
        return new Report(settings, findings(store), findings(compare), words);
    }

    private static Findings findings(String text) throws IOException {
        Properties values = new Properties();
        values.load(new StringReader(text));
        return new Findings(values);
    }
}
