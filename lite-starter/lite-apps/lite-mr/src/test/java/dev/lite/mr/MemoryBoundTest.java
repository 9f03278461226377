package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job whose reduce and merge write as much as its map: the most memory that a job needs for its intermediate data. */
class MemoryBoundTest {
    private static final int LINES = 100_000;
    private static final int LINE_BYTES = 100;
    private static final int HEAD_BYTES = 8;
    /** What map tasks write: each line as key and as value. */
    private static final long INTERMEDIATE = (long) LINES * (HEAD_BYTES + 2 * LINE_BYTES);

    @TempDir
    Path directory;

    private Path text() throws IOException {
        byte[] text = new byte[LINES * (LINE_BYTES + 1)];
        Random random = new Random(31);
        for (int at = 0; at < text.length; at++) {
            text[at] = (byte) (at % (LINE_BYTES + 1) == LINE_BYTES ? '\n' : 'a' + random.nextInt(26));
        }
        return Files.write(directory.resolve("text"), text);
    }

    /** Runs the job on one node with so much free memory, in tenths of the intermediate data; returns the number of pairs. */
    private long run(int tenths) throws IOException {
        try (TestCluster cluster = TestCluster.start(1, 4 * INTERMEDIATE)) {
            Lite lite = cluster.embedded(0);
            MapReduce master = cluster.master(lite);
            cluster.worker(0, 1);
            cluster.worker(0, 1);
            TestCluster.awaitWorkers(master, 2);
            lite.memory().malloc(LmrSpec.of(cluster.freeBytes(0) - INTERMEDIATE * tenths / 10));
            long before = cluster.lmrBytes();
            JobSpec spec = JobSpec.of(SlowJobs.Doubling.class, Input.file(text()))
                    .withSplitBytes(1_000_000)
                    .withOutput(Output.file(directory.resolve("out")));
            try {
                return master.run(spec).pairCount();
            } finally {
                assertThat(cluster.lmrBytes()).isEqualTo(before);
            }
        }
    }

    @Test
    void aJobNeedsNoMoreThanThreeTimesItsIntermediateData() throws IOException {
        // A tenth for the ends of LMRs, and for the rings of calls.
        assertThat(run(31)).isEqualTo(LINES);
    }

    @Test
    void withLessThanThatItFailsWithOneMessageAndLeavesNothing() {
        assertThatThrownBy(() -> run(25))
                .isInstanceOf(MrException.class)
                .hasMessageContainingAll(
                        "the job " + SlowJobs.Doubling.class.getName() + " failed: ",
                        "has too little memory for its results");
        assertThat(directory.resolve("out")).doesNotExist();
    }
}
