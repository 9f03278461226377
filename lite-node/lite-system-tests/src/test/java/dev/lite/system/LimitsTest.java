package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LtLock;
import dev.lite.api.NodeInfo;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.VersionedRecord;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/**
 * Rows of the fault suite for a cluster that reaches its limits: a ZooKeeper, two managers and three nodes, real processes, under the
 * checked workload of {@link FaultsTest}. {@link NearLimits} moves counters of each new node process to just below their limits, the
 * test moves those of the directory, and rings of calls always begin there.
 */
@Tag("faults")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class LimitsTest extends FaultSuite {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(4);
    private static final int NAMES = Integer.getInteger("lite.faults.names", 66_000);

    private static final int TICKETS_LEFT = 64;
    /** Where numbers would leave an int, signed or not. */
    private static final List<Long> TICKET_LIMITS = List.of(1L << 31, 1L << 32);

    /** A ticket has 42 bits; so many are left for the rest of the test. */
    private static final long LAST_TICKETS = (1L << 42) - (1L << 24);

    /** A node's record in the directory counts the blocks of ids that it took, of 2^21. */
    private static final long ID_BLOCKS = 1L << 21;

    private static final int ID_BLOCKS_LEFT = 64;

    /** How long a name is unused before it is forgotten: the least that a node accepts. */
    private static final Duration NAME_IDLE = Duration.ofSeconds(1);

    private static final String NAME = "limits/name-";
    private static final int NAMES_FIRST = 500;
    private static final int NAME_USERS = 16;
    private static final int NAMES_EACH = 125;
    private static final int SAMPLE = 512;
    private static final int NAMES_IN_USE = 16;
    private static final int HOME_OF_NAMES = 2;
    private static final Pattern EXTENTS = Pattern.compile("\"extents\":([0-9]+)");

    private static final Path LOGS = Path.of(System.getProperty("lite.system.logs"), "LimitsTest");
    private static final FaultReport REPORT = new FaultReport(SESSION_TIMEOUT);

    private static ZooKeepers zooKeeper;
    private static LocalCluster cluster;
    private static CuratorDirectory directory;
    private static Applications applications;
    private static Workload workload;
    private static LimitSteps steps;

    LimitsTest() {
        super(REPORT);
    }

    @Override
    Workload workload() {
        return workload;
    }

    /** These rows leave nothing broken. */
    @Override
    void repair() {}

    @BeforeAll
    static void start() throws IOException {
        Assumptions.assumeTrue(
                Boolean.parseBoolean(System.getProperty("lite.faults.limits", "true")),
                "lite.faults.limits=false: these rows take minutes");
        System.out.printf("seed %d, fabric %s, %d names%n", SEED, FABRICS, NAMES);
        Path data = Files.createTempDirectory(Files.createDirectories(LOGS), "zookeeper");
        zooKeeper = ZooKeepers.start(data, 1);
        cluster = Clusters.builder("LimitsTest")
                .jars(Clusters.managerJar(), NearLimits.jar(data, Clusters.nodeJar()))
                .zookeeper(zooKeeper.connectString())
                .property("lite.cluster.session-timeout", SESSION_TIMEOUT.toMillis() + "ms")
                .nodes(NODES)
                .fabrics(FABRICS.split(","))
                .nodeProperty(NearLimits.PROPERTY, NearLimits.class.getName())
                .nodeProperty("lite.node.deadline", DEADLINE.toMillis() + "ms")
                .nodeProperty("lite.node.tcp.peer-timeout", SESSION_TIMEOUT.toMillis() + "ms")
                .nodeProperty("lite.node.name-idle", NAME_IDLE.toSeconds() + "s")
                .retainArenas(true)
                .stopDeadline(Waits.seconds(60))
                .build();
        cluster.startManager(1);
        cluster.startManager(2);
        cluster.startNodes();
        directory = CuratorDirectory.open(new CuratorConfig(
                zooKeeper.connectString(),
                cluster.name(),
                SESSION_TIMEOUT,
                CuratorConfig.CONNECTION_TIMEOUT_DEFAULT,
                null));
        awaitConnections(cluster);
        for (NodeInfo node : nodes()) {
            raise("ids/" + node.id(), 2, ID_BLOCKS - ID_BLOCKS_LEFT);
        }
        raiseTickets(TICKET_LIMITS.getFirst() - TICKETS_LEFT);
        applications = new Applications();
        workload =
                new Workload(SEED, NODES, node -> applications.start(cluster.socket(node), DEADLINE), DEADLINE, true);
        workload.start();
        steps = new LimitSteps(SEED, cluster, NODES, DEADLINE);
    }

    private static List<NodeInfo> nodes() {
        try (Lite lite = Clusters.attach(cluster, 1)) {
            return lite.nodes();
        }
    }

    /** The smallest ticket that a new lock begins with. */
    private static void raiseTickets(long next) {
        raise("tickets/floor", 1, next);
    }

    /** Raises a number in one of LITE's own records, which begins with it. */
    private static void raise(String name, int longs, long number) {
        String record = ClusterDirectory.INTERNAL_PREFIX + name;
        byte[] bytes =
                ByteBuffer.allocate(longs * Long.BYTES).putLong(0, number).array();
        Waits.until("the record %s is raised".formatted(name), SOON, () -> {
            Optional<VersionedRecord> found = directory.read(record, DEADLINE);
            if (found.isEmpty()) {
                return directory.create(record, bytes, DEADLINE);
            }
            return ByteBuffer.wrap(found.get().bytes()).getLong() >= number
                    || directory
                            .compareAndSet(record, found.get().version(), bytes, DEADLINE)
                            .isPresent();
        });
    }

    @AfterAll
    static void stop() throws IOException {
        end(workload, REPORT, applications, directory, cluster, zooKeeper);
    }

    @Test
    @Order(1)
    void nodesRestartNearTheLimits() {
        Random random = new Random(SEED);
        List<Integer> restarts =
                new ArrayList<>(IntStream.rangeClosed(1, NODES).boxed().toList());
        Collections.shuffle(restarts, random);
        List<String> locks = new ArrayList<>();
        pass(IntStream.rangeClosed(1, NODES).boxed().toList(), locks);
        assertThat(workload.books().newestToken())
                .as("token of the workload's lock")
                .isGreaterThan(TICKET_LIMITS.getFirst());
        for (int node : restarts) {
            if (random.nextBoolean()) {
                cluster.kill(node);
            } else {
                assertThat(cluster.stop(node))
                        .as("node-%d ends by itself", node)
                        .isTrue();
            }
            cluster.startNode(node);
            awaitConnections(cluster);
            pass(List.of(node), locks);
            FaultReport.requireRight(workload);
        }
        over(null);
    }

    /**
     * Passes every limit once.
     *
     * @param started the nodes that were started since the last time
     * @param locks the locks that were used before; gets another one, whose tickets begin below the next limit
     */
    private static void pass(List<Integer> started, List<String> locks) {
        int passed = locks.size();
        boolean passes = passed < TICKET_LIMITS.size();
        long first = passes ? TICKET_LIMITS.get(passed) - TICKETS_LEFT : LAST_TICKETS;
        if (passed <= TICKET_LIMITS.size()) {
            raiseTickets(first);
        }
        String lock = "limits/lock-" + passed;
        locks.add(lock);
        steps.passTickets(locks);
        assertThat(steps.newestToken(lock))
                .as("the newest token of %s", lock)
                .isGreaterThan(passes ? TICKET_LIMITS.get(passed) : LAST_TICKETS);
        steps.passIds(started);
        steps.passRings();
    }

    /** A node may use 65,536 names at a time; over time it uses more of them. */
    @Test
    @Order(2)
    void locksOfManyNamesAreUsedAndForgotten() {
        // First some other names, so that what the sessions and their calls need is there.
        try (ExecutorService threads = threads()) {
            useNames(threads, "limits/first-", NAMES_FIRST, new ConcurrentHashMap<>(), new AtomicInteger());
        }
        awaitForgotten("limits/first-");
        int extents = extents();
        Map<Integer, Long> sample = new ConcurrentHashMap<>();
        AtomicBoolean end = new AtomicBoolean();
        List<String> inUse = IntStream.range(0, NAMES_IN_USE)
                .mapToObj(number -> "limits/in-use-" + number)
                .toList();
        AtomicInteger most = new AtomicInteger(extents);
        long startNs = System.nanoTime();
        try (Lite user = Clusters.attach(cluster, HOME_OF_NAMES)) {
            List<LtLock> locks =
                    inUse.stream().map(name -> user.sync().lock(name)).toList();
            locks.forEach(lock -> steps.hold(lock));
            List<Long> words = inUse.stream()
                    .map(LimitsTest::word)
                    .map(Optional::orElseThrow)
                    .toList();
            try (ExecutorService threads = threads()) {
                Future<?> beside = threads.submit(() -> useUntil(end, inUse));
                try {
                    useNames(threads, NAME, NAMES, sample, most);
                } finally {
                    end.set(true);
                }
                LimitSteps.join(beside);
            }
            System.out.printf("%d names used after %d ms%n", NAMES, (System.nanoTime() - startNs) / 1_000_000);
            awaitForgotten(NAME);
            System.out.printf(
                    "forgotten after %d ms; extents %d at first, %d at most%n",
                    (System.nanoTime() - startNs) / 1_000_000, extents, most.get());
            assertThat(inUse.stream().map(LimitsTest::word).map(Optional::orElseThrow))
                    .as("words of the names in use")
                    .isEqualTo(words);
        }
        Waits.until("the extents are free", SOON, () -> extents() <= extents + 1);
        try (Lite other = Clusters.attach(cluster, HOME_OF_NAMES % NODES + 1)) {
            sample.forEach((number, token) -> {
                try (HeldLock held = other.sync().lock(NAME + number).acquire(DEADLINE)) {
                    assertThat(held.fencingToken())
                            .as("the next token of %s%d", NAME, number)
                            .isGreaterThan(token);
                }
            });
        }
        over(null);
    }

    private static ExecutorService threads() {
        return Executors.newThreadPerTaskExecutor(
                Thread.ofPlatform().name("names-", 1).factory());
    }

    private static void awaitForgotten(String prefix) {
        Waits.until(
                "the names " + prefix + " are forgotten",
                SOON,
                () -> directory.names(recordOf(prefix), 1, DEADLINE).isEmpty());
    }

    private static String recordOf(String lock) {
        return ClusterDirectory.INTERNAL_PREFIX + "lock/" + lock;
    }

    /** The id of the word that a lock has now. */
    private static Optional<Long> word(String lock) {
        return directory
                .read(recordOf(lock), DEADLINE)
                .map(found -> LmrRecord.decode(found.bytes()).id());
    }

    private static int extents() {
        Matcher found = EXTENTS.matcher(Health.of(cluster.node(HOME_OF_NAMES)));
        return found.find() ? Integer.parseInt(found.group(1)) : Integer.MAX_VALUE;
    }

    private static void useUntil(AtomicBoolean end, List<String> locks) {
        steps.atEachNode((node, lite) -> {
            while (!end.get()) {
                locks.forEach(lock -> steps.hold(lite.sync().lock(lock)));
                Waits.pass(Duration.ofMillis(20));
            }
        });
    }

    /** Uses every name once, in sessions that use some names each; remembers the tokens of a few. */
    private static void useNames(
            ExecutorService threads, String prefix, int count, Map<Integer, Long> sample, AtomicInteger most) {
        AtomicInteger next = new AtomicInteger();
        List<Future<?>> users = new ArrayList<>();
        for (int user = 0; user < NAME_USERS; user++) {
            users.add(threads.submit(() -> {
                for (int first = next.getAndAdd(NAMES_EACH); first < count; first = next.getAndAdd(NAMES_EACH)) {
                    useNames(prefix, first, Math.min(count, first + NAMES_EACH), sample);
                }
            }));
        }
        Waits.until("all names are used", SOON.multipliedBy(5), () -> {
            Waits.pass(Duration.ofMillis(500));
            int now = extents();
            most.updateAndGet(before -> now == Integer.MAX_VALUE ? before : Math.max(before, now));
            return users.stream().allMatch(Future::isDone);
        });
        users.forEach(LimitSteps::join);
    }

    private static void useNames(String prefix, int first, int end, Map<Integer, Long> sample) {
        try (Lite lite = Clusters.attach(cluster, HOME_OF_NAMES)) {
            for (int number = first; number < end; number++) {
                try (HeldLock held = lite.sync().lock(prefix + number).acquire(DEADLINE)) {
                    assertThat(held.isHeld()).as("%s%d", prefix, number).isTrue();
                    if (number % SAMPLE == 0) {
                        sample.put(number, held.fencingToken());
                    }
                }
            }
        }
    }
}
