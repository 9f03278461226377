package dev.lite.bench.qos;

import dev.lite.bench.load.PartyMain;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A process with a node at one end of a shaped link, or with two nodes that share memory. It answers
 *
 * <ul>
 *   <li>{@code policy MODE}
 *   <li>{@code run WORKLOAD RAMP_MS END_MS}, and {@code figure FACTOR END_MS}: with the outcomes, as {@link #parse} reads them
 * </ul>
 */
final class QosParty {
    static final String SHM = ShmFabricProvider.NAME;
    static final String TCP = TcpFabricProvider.NAME;
    static final int PORT = 7501;

    private static final long ARENA_BYTES = 256L << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final String SECRET = "only for this benchmark";

    private QosParty() {}

    /**
     * Runs until the input ends.
     *
     * @param arguments the fabric and the directory; and for TCP, this node's number, and the addresses of both nodes
     */
    public static void main(String[] arguments) throws IOException {
        Path place = Path.of(arguments[1]);
        boolean shared = arguments[0].equals(SHM);
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        List<LiteNode> nodes = new ArrayList<>();
        int number = shared ? 0 : Integer.parseInt(arguments[2]);
        try {
            if (shared) {
                nodes.add(start(store, place, 0, new ShmFabricProvider(), Map.of()));
                nodes.add(start(store, place, 1, new ShmFabricProvider(), Map.of()));
            } else {
                nodes.add(startTcp(store, place, number, List.of(arguments).subList(3, 5)));
            }
            System.out.println("ok ");
            PartyMain.answer(line -> answer(nodes, "node-" + (1 - number), line.split(" ")));
        } finally {
            nodes.forEach(LiteNode::close);
        }
        System.exit(0);
    }

    private static LiteNode startTcp(InMemoryDirectory.Store store, Path place, int number, List<String> addresses) {
        Map<String, String> options =
                Map.of("bind", addresses.get(number), "port", Integer.toString(PORT), "secret", SECRET, "lanes", "2");
        if (number == 1) {
            enter(store, 0, addresses);
        }
        LiteNode node = start(store, place, number, new TcpFabricProvider(), options);
        if (number == 0) {
            enter(store, 1, addresses);
        }
        return node;
    }

    /** Registers the other node in this process's own directory. */
    private static void enter(InMemoryDirectory.Store store, int number, List<String> addresses) {
        InMemoryDirectory directory = store.open();
        String name = "node-" + number;
        int id = directory.claimId(name, NodeAdvert.NO_ID, DEADLINE);
        String address = "%s:%d".formatted(addresses.get(number), PORT);
        directory.register(new NodeAdvert(name, id, "host-" + number, ARENA_BYTES, Map.of(TCP, address)), DEADLINE);
    }

    private static LiteNode start(
            InMemoryDirectory.Store store, Path place, int number, FabricProvider fabric, Map<String, String> options) {
        LiteNodeConfig config = LiteNodeConfig.builder(
                        "bench", "node-" + number, ARENA_BYTES, place.resolve("run-" + number))
                .arena(place, false)
                .deadline(DEADLINE)
                .fabricOptions(fabric.name(), options)
                .build();
        return LiteNode.start(config, store.open(), List.of(fabric));
    }

    private static String answer(List<LiteNode> nodes, String remote, String[] words) {
        LiteNode node = nodes.getFirst();
        switch (words[0]) {
            case "policy" -> {
                QosPolicy.Mode mode = QosPolicy.Mode.valueOf(words[1]);
                nodes.forEach(one -> one.qos().set(QosPolicy.OFF.withMode(mode)));
                return "";
            }
            case "run" -> {
                Load load = new Load(node, remote, Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                return toLine(load.run(Job.named(words[1])));
            }
            case "figure" -> {
                Load load = new Load(node, remote, 0, Integer.parseInt(words[2]));
                return toLine(load.run(Job.figure(Double.parseDouble(words[1]))));
            }
            default -> throw new IllegalArgumentException("no command \"%s\"".formatted(words[0]));
        }
    }

    static String toLine(List<Load.Outcome> outcomes) {
        return outcomes.stream()
                .map(one -> "%s %d %d %.0f %.0f %s"
                        .formatted(
                                one.application(),
                                one.bytes(),
                                one.operations(),
                                one.p50Ns(),
                                one.p99Ns(),
                                one.series().stream().map(String::valueOf).collect(Collectors.joining(","))))
                .collect(Collectors.joining(";"));
    }

    /** The outcomes in an answer, by the application. */
    static Map<String, Load.Outcome> parse(String line) {
        return List.of(line.split(";")).stream()
                .map(one -> one.split(" ", -1))
                .map(words -> new Load.Outcome(
                        words[0],
                        Long.parseLong(words[1]),
                        Long.parseLong(words[2]),
                        Double.parseDouble(words[3]),
                        Double.parseDouble(words[4]),
                        words[5].isEmpty()
                                ? List.of()
                                : List.of(words[5].split(",")).stream()
                                        .map(Long::valueOf)
                                        .toList()))
                .collect(Collectors.toMap(Load.Outcome::application, one -> one));
    }
}
