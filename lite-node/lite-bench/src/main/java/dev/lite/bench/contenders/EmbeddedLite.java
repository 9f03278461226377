package dev.lite.bench.contenders;

import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.Server;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/** Two applications in their own processes, each with an embedded node. */
public class EmbeddedLite implements Contender {
    private final String fabric;
    private final String protection;

    private EmbeddedLite(String fabric, String protection) {
        this.fabric = fabric;
        this.protection = protection;
    }

    /** Nodes that are connected by shared memory. */
    public static final class Shm extends EmbeddedLite {
        /** For the service loader. */
        public Shm() {
            super("shm", BenchNode.Spec.ENCRYPTED);
        }
    }

    /** Nodes that are connected by TCP. */
    public static final class Tcp extends EmbeddedLite {
        /** For the service loader. */
        public Tcp() {
            super("tcp", BenchNode.Spec.ENCRYPTED);
        }
    }

    /** The same without encryption. */
    public static final class PlainTcp extends EmbeddedLite {
        /** For the service loader. */
        public PlainTcp() {
            super("tcp", BenchNode.Spec.PLAIN);
        }
    }

    @Override
    public String name() {
        return "LITE embedded " + fabric + (protection.equals(BenchNode.Spec.PLAIN) ? " plain" : "");
    }

    @Override
    public Backing start(Path place, Supplier<String> zooKeeper) {
        BenchNode.Spec caller = new BenchNode.Spec(zooKeeper.get(), fabric, place, "node-0", 0, protection);
        BenchManager manager = BenchManager.start(caller);
        return new Backing() {
            @Override
            public List<String> serverArguments() {
                return new BenchNode.Spec(caller.zooKeeper(), fabric, place, LiteServer.NODE, 0, protection).words();
            }

            @Override
            public List<String> callerArguments() {
                return caller.words();
            }

            @Override
            public void close() {
                manager.close();
            }
        };
    }

    @Override
    public Server openServer(List<String> arguments) {
        BenchNode node = BenchNode.start(BenchNode.Spec.parse(arguments));
        return new LiteServer(node.attach(), node::close);
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        BenchNode node = BenchNode.start(BenchNode.Spec.parse(arguments));
        return new LiteCaller(index -> node.attach(), fabric, node::close);
    }
}
