package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeRecord;
import dev.lite.testing.Waits;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

class PublishedFunctionsTest {
    private static final NodeRecord SELF = new NodeRecord("a", 0, 1, "host", 1 << 20, Map.of(), 1);

    private final List<Long> writes = new CopyOnWriteArrayList<>();

    /** A directory that takes functions, and nothing else. */
    private ClusterDirectory directory() {
        return (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (self, method, args) -> {
                    if (method.getName().equals("publishFunctions")) {
                        writes.add(System.nanoTime());
                        return true;
                    }
                    assertThat(method.getName()).isEqualTo("addListener");
                    return null;
                });
    }

    @Test
    void functionsThatComeAndGoAllTheTimeAreWrittenInGroups() {
        Executor threads = task -> Thread.ofVirtual().start(task);
        PublishedFunctions published = new PublishedFunctions(directory(), () -> SELF, threads);
        published.start(() -> List.of("f"));
        Waits.until("three writes", () -> {
            published.changed();
            return writes.size() >= 3;
        });
        assertThat(writes.get(2) - writes.get(0)).isGreaterThanOrEqualTo(2 * PublishedFunctions.PAUSE_NS);
    }

    @Test
    void theLastChangeIsWritten() {
        Executor threads = task -> Thread.ofVirtual().start(task);
        PublishedFunctions published = new PublishedFunctions(directory(), () -> SELF, threads);
        published.start(() -> List.of("f"));
        for (int change = 0; change < 20; change++) {
            int before = writes.size();
            published.changed();
            Waits.until("a write after the change", () -> writes.size() > before);
        }
    }
}
