package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.testing.ChildJvm;
import dev.lite.tier.testing.InDevShm;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A host whose own name cannot be resolved. */
class NamelessHostTest {
    /** Starts a node, and prints whether the host's name resolves. */
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            Path root = Path.of(arguments[0]);
            LiteNodeConfig config = LiteNodeConfig.builder("c", "n", 8 << 20, root.resolve("run"))
                    .arena(root.resolve("arenas"), false)
                    .build();
            try (InMemoryDirectory directory = new InMemoryDirectory.Store().open();
                    LiteNode node = LiteNode.start(config, directory, List.of(new ShmFabricProvider()))) {
                System.out.println("started " + node.nodeName() + ", and the host's name is " + name());
            }
        }

        private static String name() {
            try {
                return InetAddress.getLocalHost().getHostName();
            } catch (UnknownHostException e) {
                return "unknown";
            }
        }
    }

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aNodeStartsOnAHostWithoutAResolvableName() throws Exception {
        // The JDK resolves names only with this file, which has no entries.
        Path hosts = Files.createFile(root.resolve("hosts"));
        try (ChildJvm child =
                ChildJvm.start(List.of("-Djdk.net.hosts.file=" + hosts), Program.class, root.toString())) {
            String said = child.line();
            while (said != null && !said.startsWith("started")) {
                said = child.line();
            }
            assertThat(said).isEqualTo("started n, and the host's name is unknown");
        }
    }
}
