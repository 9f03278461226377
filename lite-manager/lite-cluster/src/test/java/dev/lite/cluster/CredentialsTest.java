package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.CuratorConfig.Credentials;
import dev.lite.cluster.process.StartException;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.slf4j.LoggerFactory;

/** Access control of a cluster's directory, on a real ZooKeeper. */
@Isolated("it captures the log of its process")
class CredentialsTest {
    private static final Duration DEADLINE = ClusterDirectoryContract.DEADLINE;
    private static final String PASSWORD = "a password: with a colon";
    private static final Credentials OURS = new Credentials("lite", PASSWORD);
    private static final AtomicInteger CLUSTERS = new AtomicInteger();

    @TempDir
    static Path directory;

    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    private final String cluster = "owned-" + CLUSTERS.incrementAndGet();
    private final List<CuratorDirectory> opened = new ArrayList<>();

    @AfterEach
    void closeSessions() {
        opened.forEach(CuratorDirectory::close);
    }

    private CuratorDirectory open(@Nullable Credentials credentials) {
        return open(cluster, credentials);
    }

    private CuratorDirectory open(String name, @Nullable Credentials credentials) {
        CuratorDirectory one = CuratorDirectory.open(
                CuratorConfig.of(zooKeeper.connectString(), name).withCredentials(credentials));
        opened.add(one);
        return one;
    }

    private static void use(CuratorDirectory one) {
        one.register(ClusterDirectoryContract.advert("a"), DEADLINE);
        assertThat(one.create("name", new byte[] {1}, DEADLINE)).isTrue();
        int version = one.read("name", DEADLINE).orElseThrow().version();
        assertThat(one.compareAndSet("name", version, new byte[] {2}, DEADLINE)).isPresent();
        Leadership leadership = one.leadership("manager");
        Waits.until("it leads", leadership::isLeader);
    }

    @Test
    void onlyItsUserCanAccessTheZnodesOfACluster() throws IOException, InterruptedException, KeeperException {
        use(open(OURS));

        Map<String, List<ACL>> found = acls("/lite/" + cluster);

        assertThat(found.keySet())
                .anyMatch(path -> path.contains("/live/"))
                .anyMatch(path -> path.contains("/names/"))
                .anyMatch(path -> path.contains("/leader/"));
        assertThat(found).allSatisfy((path, granted) -> {
            assertThat(granted).as(path).hasSize(1);
            assertThat(granted.getFirst().getPerms()).as(path).isEqualTo(ZooDefs.Perms.ALL);
            assertThat(granted.getFirst().getId().getScheme()).as(path).isEqualTo("digest");
            assertThat(granted.getFirst().getId().getId()).as(path).startsWith("lite:");
        });
    }

    @Test
    void anotherProcessOfTheSameUserSharesTheCluster() {
        use(open(OURS));

        CuratorDirectory other = open(new Credentials("lite", PASSWORD));

        assertThat(other.read("name", DEADLINE)).isPresent();
        assertThat(other.nodesNow(DEADLINE)).hasSize(1);
        Waits.until("it sees the node", () -> other.nodes().size() == 1);
    }

    @Test
    void aWrongPasswordIsReportedAtOnceInOneMessage() {
        use(open(OURS));
        CuratorDirectory wrong = open(new Credentials("lite", "something else"));
        CuratorDirectory nobody = open(null);
        long startNs = System.nanoTime();

        assertThatThrownBy(() -> wrong.nodesNow(DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining(zooKeeper.connectString())
                .hasMessageContaining("refuses /lite/%s/".formatted(cluster))
                .hasMessageContaining("the user \"lite\"")
                .hasMessageContaining("another password")
                .hasMessageNotContaining("something else");
        assertThatThrownBy(() -> wrong.register(ClusterDirectoryContract.advert("b"), DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("another password");
        assertThatThrownBy(() -> nobody.read("name", DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("this process, which has no user and password");

        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(DEADLINE);
    }

    @Test
    void clustersOfDifferentUsersCanShareAZooKeeper() {
        CuratorDirectory one = open(OURS);
        CuratorDirectory other = open(cluster + "-other", new Credentials("other", "other's"));
        CuratorDirectory open = open(cluster + "-open", null);

        use(one);
        use(other);
        use(open);
    }

    @Test
    void aClusterCreatedWithoutAPasswordIsReportedAsOpen() {
        use(open(null));

        assertThat(logOf(() -> assertThat(open(OURS).read("name", DEADLINE)).isPresent()))
                .anySatisfy(message -> assertThat(message)
                        .contains("/lite/" + cluster)
                        .contains("without a user and password")
                        .doesNotContain(PASSWORD));
    }

    private static List<String> logOf(Runnable action) {
        ListAppender<ILoggingEvent> messages = new ListAppender<>();
        messages.start();
        Logger logger = (Logger) LoggerFactory.getLogger(CuratorDirectory.class);
        logger.addAppender(messages);
        try {
            action.run();
        } finally {
            logger.detachAppender(messages);
        }
        return messages.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    /** For example one whose name has a wrong letter. */
    @Test
    void aClusterThatNoManagerHasLedIsReported() {
        CuratorDirectory node = open(null);
        node.register(ClusterDirectoryContract.advert("a"), DEADLINE);
        assertThat(logOf(node::warnWithoutManager)).singleElement().asString().contains("\"" + cluster + "\"");

        CuratorDirectory manager = open(null);
        try (Leadership leadership = manager.leadership("manager");
                EpochKeeperThread epochs = manager.keepEpochs(leadership)) {
            Waits.until("the node sees an epoch", () -> node.epoch().number() > 0);
            assertThat(epochs).isNotNull();
        }
        assertThat(logOf(node::warnWithoutManager)).isEmpty();
    }

    @Test
    void aPasswordComesFromAFileOrAPropertyAndIsNeverPrinted() throws IOException {
        Path file = Files.writeString(directory.resolve("password"), PASSWORD + "\n");

        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        assertThat(Credentials.of("x.auth", "lite", null, file)).isEqualTo(OURS);
        assertThat(Credentials.of("x.auth", "lite", PASSWORD, null)).isEqualTo(OURS);
        assertThat(Credentials.of("x.auth", "lite", null, null)).isNull();
        assertThatThrownBy(() -> Credentials.of("x.auth", "lite", PASSWORD, file))
                .hasMessageContaining("x.auth.password and x.auth.password-file are both set")
                .hasMessageNotContaining(PASSWORD);
        assertThatThrownBy(() -> Credentials.of("x.auth", "lite", null, directory.resolve("missing")))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("x.auth.password-file");
        assertThatThrownBy(() -> new Credentials("a:b", PASSWORD)).hasMessageContaining("\"a:b\"");
        assertThatThrownBy(() -> new Credentials("lite", "")).hasMessageContaining("is empty");
        assertThat(CuratorConfig.of("h:1", "c").withCredentials(OURS).toString())
                .contains("lite")
                .doesNotContain(PASSWORD);
    }

    @Test
    void aFileWithThePasswordThatOthersMayWriteIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("writable"), PASSWORD);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw--w----"));

        assertThatThrownBy(() -> Credentials.of("x.auth", "lite", null, file))
                .isInstanceOf(StartException.class)
                .hasMessageContaining(file.toString())
                .hasMessageContaining("x.auth.password-file")
                .hasMessageNotContaining(PASSWORD);
    }

    /** The ACLs of all znodes below a path, read by a separate client. */
    private static Map<String, List<ACL>> acls(String top) throws IOException, InterruptedException, KeeperException {
        CountDownLatch connected = new CountDownLatch(1);
        Watcher watcher = event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        };
        ZooKeeper client = new ZooKeeper(zooKeeper.connectString(), 10_000, watcher);
        try {
            client.addAuthInfo("digest", ("lite:" + PASSWORD).getBytes(StandardCharsets.UTF_8));
            assertThat(connected.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            Map<String, List<ACL>> found = new TreeMap<>();
            collect(client, top, found);
            return found;
        } finally {
            client.close();
        }
    }

    private static void collect(ZooKeeper client, String path, Map<String, List<ACL>> found)
            throws InterruptedException, KeeperException {
        found.put(path, client.getACL(path, new Stat()));
        for (String child : client.getChildren(path, false)) {
            collect(client, path + "/" + child, found);
        }
    }
}
