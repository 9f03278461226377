package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The ids of LMRs: no two LMRs of a cluster get the same one, however many a process creates. */
class LmrIdsTest {
    private static final int NODE = 1023;

    private final InMemoryDirectory directory = new InMemoryDirectory.Store().open();
    private final Set<Long> drawn = new HashSet<>();

    @AfterEach
    void close() {
        directory.close();
    }

    /** One process of the node. */
    private LmrRecords process(long incarnation) {
        return new LmrRecords(
                new NodeRecord("n", NODE, incarnation, "host", 1 << 20, Map.of(), incarnation * 31), directory);
    }

    private void draw(LmrRecords records, int count) {
        for (int index = 0; index < count; index++) {
            long id = records.newId(Deadline.in(Waits.seconds(5)));
            assertThat(drawn.add(id)).as("the id %x is new", id).isTrue();
            assertThat(id).isPositive();
            assertThat(LmrRecords.creator(id)).isEqualTo(NODE);
        }
    }

    @Test
    void noIdRepeatsWhenProcessesUseUpTheirCounts() {
        for (long incarnation = 1; incarnation <= 3; incarnation++) {
            LmrRecords records = process(incarnation);
            draw(records, 10);
            for (int block = 0; block < 4; block++) {
                records.skipIds(LmrRecords.IDS_PER_BLOCK - 20);
                draw(records, 30);
            }
        }
    }

    @Test
    void noIdRepeatsAfterMoreRegistrationsThanAnIdCanName() {
        long last = (1 << 21) - 1;
        for (long incarnation : new long[] {1, last, last + 1, last + 2}) {
            draw(process(incarnation), 10);
        }
    }

    @Test
    void idsLastForAWhileWithoutTheDirectoryAndThenSoDoNewOnes() {
        LmrRecords records = process(1);
        records.skipIds(LmrRecords.IDS_PER_BLOCK - LmrRecords.IDS_RESERVED);
        draw(records, 1); // takes the next block in time
        directory.setAvailable(false);
        records.skipIds(LmrRecords.IDS_RESERVED);
        draw(records, 10);
        records.skipIds(LmrRecords.IDS_PER_BLOCK);
        assertThatThrownBy(() -> draw(records, 1)).isInstanceOf(ClusterUnavailableException.class);

        directory.setAvailable(true);

        draw(records, 10);
    }
}
