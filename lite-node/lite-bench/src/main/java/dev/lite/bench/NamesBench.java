package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.bench.load.BenchZooKeeper;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * Creates {@value #NAMES} named LMRs on one node and maps them on another, with a real ZooKeeper in its own process: the
 * time per LMR with one caller and with {@value #CALLERS}, and the heap per handle. Compared with creating and reading a
 * directory record of the same size.
 */
final class NamesBench implements BenchMain.Benchmark {
    private static final int NAMES = 100_000;
    private static final int ALONE = 1_000;
    private static final int RAW = 20_000;
    private static final int CALLERS = 32;
    private static final int PAGE = 1_000;
    private static final int LMR_BYTES = 64;
    private static final int RECORD_BYTES = 100;
    private static final long ARENA_BYTES = 1L << 30;
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    @Override
    public void run(BenchReport report) {
        report.note("raw: creating or reading a directory record of %d bytes".formatted(RECORD_BYTES));
        try (BenchZooKeeper zooKeeper = new BenchZooKeeper();
                CuratorDirectory raw = open(zooKeeper, "raw");
                CuratorDirectory first = open(zooKeeper, "bench");
                CuratorDirectory second = open(zooKeeper, "bench");
                BenchNodes nodes = new BenchNodes(List.of(first, second), ARENA_BYTES);
                Lite maker = nodes.attach(0);
                Lite mapper = nodes.attach(1)) {
            byte[] record = new byte[RECORD_BYTES];
            each(0, ALONE, 1, i -> raw.create("warm-up/" + i, record, DEADLINE));
            double rawAlone = each(0, ALONE, 1, i -> raw.create(name(i), record, DEADLINE));
            double rawTogether = each(ALONE, RAW, CALLERS, i -> raw.create(name(i), record, DEADLINE));
            double readAlone = each(0, ALONE, 1, i -> read(raw, name(i)));
            double readTogether = each(ALONE, RAW, CALLERS, i -> read(raw, name(i)));
            LmrHandle[] made = new LmrHandle[NAMES];
            LmrHandle[] mapped = new LmrHandle[NAMES];
            long resident = zooKeeper.residentBytes();
            long heap = heapBytes();
            IntConsumer malloc = i -> made[i] = maker.memory()
                    .malloc(LmrSpec.of(LMR_BYTES).withName(name(i)).withDefaultPermissions(Permission.READ), DEADLINE);
            report.add("malloc, 1 caller", LMR_BYTES, "us", each(0, ALONE, 1, malloc), rawAlone);
            report.add(
                    "malloc, %d callers".formatted(CALLERS),
                    LMR_BYTES,
                    "us",
                    each(ALONE, NAMES, CALLERS, malloc),
                    rawTogether);
            long withMade = heapBytes();
            IntConsumer map = i -> mapped[i] = mapper.memory().map(name(i), Permission.READ);
            report.add("map, 1 caller", LMR_BYTES, "us", each(0, ALONE, 1, map), readAlone);
            report.add(
                    "map, %d callers".formatted(CALLERS),
                    LMR_BYTES,
                    "us",
                    each(ALONE, NAMES, CALLERS, map),
                    readTogether);
            long withMapped = heapBytes();
            report.add("heap of a handle, made", 0, "B", (double) (withMade - heap) / NAMES, RECORD_BYTES);
            report.add("heap of a handle, mapped", 0, "B", (double) (withMapped - withMade) / NAMES, RECORD_BYTES);
            report.add(
                    "ZooKeeper, resident",
                    0,
                    "B",
                    (double) (zooKeeper.residentBytes() - resident) / NAMES,
                    RECORD_BYTES);
            list(report, second, made.length + mapped.length);
        }
    }

    private static CuratorDirectory open(BenchZooKeeper zooKeeper, String cluster) {
        return CuratorDirectory.open(CuratorConfig.of(zooKeeper.connectString(), cluster));
    }

    private static void read(ClusterDirectory directory, String name) {
        if (directory.read(name, DEADLINE).isEmpty()) {
            throw new IllegalStateException("there is no record of " + name);
        }
    }

    private static String name(int i) {
        return "shop/orders/%06d".formatted(i);
    }

    /** Lists one page and all pages of names, compared with one listing of all names. */
    private static void list(BenchReport report, ClusterDirectory directory, int handles) {
        int pages = NAMES / PAGE;
        long begin = System.nanoTime();
        List<String> all = directory.names("shop/", Integer.MAX_VALUE, DEADLINE);
        double whole = (System.nanoTime() - begin) / 1e3;
        if (all.size() != NAMES || handles != 2 * NAMES) {
            throw new IllegalStateException("%d names and %d handles; %d LMRs".formatted(all.size(), handles, NAMES));
        }
        begin = System.nanoTime();
        int found = directory.names("shop/orders/05", PAGE, DEADLINE).size();
        report.add("names, first %d of a prefix".formatted(found), 0, "us", (System.nanoTime() - begin) / 1e3, whole);
        begin = System.nanoTime();
        List<String> paged = new ArrayList<>();
        String after = "";
        while (paged.size() < NAMES) {
            List<String> page = directory.names("shop/", after, PAGE, DEADLINE);
            paged.addAll(page);
            after = page.getLast();
        }
        report.add("names, all in %d pages".formatted(pages), 0, "us", (System.nanoTime() - begin) / 1e3, whole);
    }

    /**
     * Runs the task for each number with concurrent callers. Returns the total time divided by the number of tasks, in
     * microseconds.
     */
    private static double each(int from, int to, int callers, IntConsumer task) {
        AtomicInteger next = new AtomicInteger(from);
        long begin = System.nanoTime();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<CompletableFuture<Void>> running = new ArrayList<>();
            for (int caller = 0; caller < callers; caller++) {
                running.add(CompletableFuture.runAsync(
                        () -> {
                            for (int i = next.getAndIncrement(); i < to; i = next.getAndIncrement()) {
                                task.accept(i);
                            }
                        },
                        threads));
            }
            running.forEach(CompletableFuture::join);
        }
        return (System.nanoTime() - begin) / 1e3 / (to - from);
    }

    private static long heapBytes() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        memory.gc();
        return memory.getHeapMemoryUsage().getUsed();
    }
}
