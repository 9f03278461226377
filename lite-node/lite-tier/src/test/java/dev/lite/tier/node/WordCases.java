package dev.lite.tier.node;

import static dev.lite.tier.node.LiteNodeContract.shared;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.TestCluster;
import dev.lite.tier.testing.WordChecks;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Words of an LMR, from every node. */
interface WordCases extends NodeCases {

    @Test
    default void wordsAreReadWrittenAndChangedAlikeByAllNodes() {
        TestCluster cluster = cluster(2);
        for (String where : List.of("n0", "n1")) {
            LmrSpec spec = shared(64, "words-" + where).withPlacement(Placement.on(where));
            LmrHandle one = cluster.attach(0).memory().malloc(spec);
            LmrHandle two = cluster.attach(1)
                    .memory()
                    .map("words-" + where, Permission.READ, Permission.WRITE, Permission.ATOMIC);
            WordChecks.checkLongs(one, two);
            WordChecks.checkInts(one, two);
        }
    }

    @Test
    default void additionsToBothHalvesOfAWordLoseNothing() {
        TestCluster cluster = cluster(2);
        int each = Effort.times(200);
        LmrHandle one = cluster.attach(0).memory().malloc(shared(8, "halves").withPlacement(Placement.on("n1")));
        LmrHandle two = cluster.attach(1).memory().map("halves", Permission.ATOMIC);
        Thread other = Thread.ofPlatform().start(() -> add(two, each));
        add(one, each);
        Waits.join(other);
        assertThat(one.getInt(0)).isEqualTo(2 * each);
        assertThat(one.getInt(4)).isEqualTo(-2 * each);
    }

    private static void add(LmrHandle handle, int times) {
        for (int i = 0; i < times; i++) {
            handle.getAndAddInt(0, 1);
            handle.getAndAddInt(4, -1);
        }
    }

    @Test
    default void aReaderOfAChangedWordSeesWhatItsWriterHadWrittenBefore() {
        TestCluster cluster = cluster(2);
        LtMemory writers = cluster.attach(0).memory();
        LtMemory readers = cluster.attach(1).memory();
        for (String where : List.of("n0", "n1")) {
            for (WordChecks.Publication publication : WordChecks.Publication.values()) {
                String name = where + publication;
                LmrHandle words = writers.malloc(shared(64, name).withPlacement(Placement.on(where)));
                LmrHandle data = writers.malloc(shared(4096, name + "-data").withPlacement(Placement.spread()));
                WordChecks.checkPublication(
                        publication,
                        words,
                        data,
                        readers.map(name, Permission.READ),
                        readers.map(name + "-data", Permission.READ),
                        Effort.times(300));
            }
        }
    }

    @Test
    default void aWordThatIsNotAlignedOrNotAllowedIsRefused() {
        TestCluster cluster = cluster(2);
        LmrHandle all = cluster.attach(0).memory().malloc(shared(20, "bounds").withPlacement(Placement.on("n1")));
        LmrHandle reads = cluster.attach(1).memory().map("bounds", Permission.READ);
        assertThatThrownBy(() -> all.getLong(4))
                .isInstanceOf(LmrBoundsException.class)
                .hasMessageContaining("getLong at offset 4")
                .hasMessageContaining("multiple of 8");
        assertThatThrownBy(() -> all.putInt(6, 1))
                .isInstanceOf(LmrBoundsException.class)
                .hasMessageContaining("putInt at offset 6")
                .hasMessageContaining("multiple of 4");
        assertThatThrownBy(() -> all.getLong(16)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> all.getAndAddInt(16, 1)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> reads.putLong(0, 1)).isInstanceOf(LmrPermissionException.class);
        assertThatThrownBy(() -> reads.compareAndSetInt(0, 0, 1)).isInstanceOf(LmrPermissionException.class);
        all.putInt(16, 7);
        assertThat(reads.getInt(16)).isEqualTo(7);
    }
}
