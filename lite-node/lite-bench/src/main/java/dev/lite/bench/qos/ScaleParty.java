package dev.lite.bench.qos;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.bench.load.PartyMain;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * One node process of {@link ScaleBench}. It prints its address, and answers {@code enter ADDRESS…}, with the addresses of all
 * nodes, and {@code run write|call THREADS MILLISECONDS} with the number of operations.
 */
final class ScaleParty {
    private static final long ARENA_BYTES = 64L << 20;
    private static final int LMR_BYTES = 1 << 20;
    private static final int THREADS = 8;
    private static final int REQUEST_BYTES = 64;
    private static final int REPLY_BYTES = 8;
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final long NS_PER_MS = 1_000_000;
    private static final String FUNCTION = "bench/scale";

    private final InMemoryDirectory.Store store;
    private final int number;
    private final Lite lite;
    private final List<LmrHandle> handles = new ArrayList<>();
    private final List<RpcClient> clients = new ArrayList<>();

    private ScaleParty(InMemoryDirectory.Store store, int number, Lite lite) {
        this.store = store;
        this.number = number;
        this.lite = lite;
    }

    /**
     * Runs until the input ends.
     *
     * @param arguments the directory and this node's number
     */
    public static void main(String[] arguments) throws IOException {
        Path place = Path.of(arguments[0]);
        int number = Integer.parseInt(arguments[1]);
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        try (InMemoryDirectory others = store.open()) {
            for (int before = 0; before < number; before++) { // so that this node gets the same id everywhere
                int unused = others.claimId("node-" + before, NodeAdvert.NO_ID, DEADLINE);
            }
            LiteNodeConfig config = LiteNodeConfig.builder(
                            "bench", "node-" + number, ARENA_BYTES, place.resolve("run-" + number))
                    .arena(place, false)
                    .fabricOptions("tcp", Map.of("secret", "the benchmark's secret"))
                    .deadline(DEADLINE)
                    .build();
            try (LiteNode node = LiteNode.start(config, store.open(), List.of(new TcpFabricProvider()));
                    Lite lite = node.attach("bench")) {
                MemorySegment reply = MemorySegment.ofArray(new byte[REPLY_BYTES]);
                RpcServer unused = lite.rpc().register(FUNCTION, THREADS, call -> reply);
                ScaleParty party = new ScaleParty(store, number, lite);
                System.out.println("ok " + node.self().fabrics().get(TcpFabricProvider.NAME));
                PartyMain.answer(line -> party.answer(line.split(" ")));
            }
        }
        System.exit(0);
    }

    private String answer(String[] words) {
        if (words[0].equals("enter")) {
            enter(List.of(words).subList(1, words.length));
            return "";
        }
        boolean write = words[1].equals("write");
        return Long.toString(run(write, Integer.parseInt(words[2]), Long.parseLong(words[3]) * NS_PER_MS));
    }

    private void enter(List<String> addresses) {
        for (int other = 0; other < addresses.size(); other++) {
            if (other == number) {
                continue;
            }
            String name = "node-" + other;
            InMemoryDirectory directory = store.open();
            int id = directory.claimId(name, NodeAdvert.NO_ID, DEADLINE);
            directory.register(
                    new NodeAdvert(
                            name,
                            id,
                            "host-" + other,
                            ARENA_BYTES,
                            Map.of(TcpFabricProvider.NAME, addresses.get(other))),
                    DEADLINE);
            handles.add(lite.memory().malloc(LmrSpec.of(LMR_BYTES).withPlacement(Placement.on(name))));
            clients.add(lite.rpc().bind(name, FUNCTION));
        }
    }

    private long run(boolean write, int threads, long ns) {
        long endNs = System.nanoTime() + ns;
        try (ExecutorService service = Executors.newFixedThreadPool(threads)) {
            List<Callable<Long>> tasks = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                int first = thread;
                tasks.add(() -> repeat(write, first, endNs));
            }
            long sum = 0;
            for (Future<Long> task : service.invokeAll(tasks)) {
                sum += task.get();
            }
            return sum;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("an operation failed: " + e.getCause(), e);
        }
    }

    private long repeat(boolean write, int first, long endNs) {
        byte[] request = new byte[REQUEST_BYTES];
        long operations = 0;
        int next = first % handles.size();
        while (System.nanoTime() < endNs) {
            if (write) {
                handles.get(next).write((long) first * REQUEST_BYTES, request);
            } else {
                byte[] unused = clients.get(next).call(request, DEADLINE);
            }
            operations++;
            next = (next + 1) % handles.size();
        }
        return operations;
    }
}
