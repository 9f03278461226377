package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static dev.lite.cluster.ClusterDirectoryContract.bytes;
import static dev.lite.cluster.ClusterDirectoryContract.namesOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.CuratorConfig.Signing;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A stranger who can write to ZooKeeper, but does not know the cluster's secret, attacks the records of a cluster. ZooKeeper has no
 * access control here.
 */
class SignedRecordsTest {
    private static final String OLD = "the old secret of a cluster";
    private static final String NEW = "the new secret of a cluster";
    private static final AtomicInteger CLUSTERS = new AtomicInteger();

    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    private final String cluster = "signed-" + CLUSTERS.incrementAndGet();
    private final ZooKeeperPaths paths = new ZooKeeperPaths(cluster);
    private final List<CuratorDirectory> opened = new ArrayList<>();
    private ZooKeeper stranger;

    SignedRecordsTest() throws IOException {
        stranger = new ZooKeeper(zooKeeper.connectString(), 10_000, event -> {});
    }

    @BeforeEach
    void connect() {
        Waits.until("the stranger's connection", () -> stranger.getState() == ZooKeeper.States.CONNECTED);
    }

    @AfterEach
    void close() throws InterruptedException {
        opened.forEach(CuratorDirectory::close);
        stranger.close();
    }

    private CuratorDirectory open(@Nullable String secret) {
        return open(secret, false);
    }

    private CuratorDirectory open(@Nullable String secret, boolean acceptUnsigned) {
        return open(zooKeeper.connectString(), secret, acceptUnsigned);
    }

    private CuratorDirectory open(String connectString, @Nullable String secret, boolean acceptUnsigned) {
        CuratorDirectory directory =
                CuratorDirectory.open(new CuratorConfig(connectString, cluster, Waits.seconds(5), Waits.seconds(1))
                        .withSigning(secret == null ? null : new Signing(secret, acceptUnsigned)));
        opened.add(directory);
        return directory;
    }

    private byte[] stored(String path) throws KeeperException, InterruptedException {
        return stranger.getData(path, false, new Stat());
    }

    private void write(String path, byte @Nullable [] stored) throws KeeperException, InterruptedException {
        if (stranger.exists(path, false) == null) {
            stranger.create(path, stored, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        } else {
            stranger.setData(path, stored, -1);
        }
    }

    @Test
    void aStrangersNodeDoesNotJoin() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        NodeRecord ours = member.register(advert("ours"), DEADLINE);
        NodeRecord evil = new NodeRecord("evil", 7, 1, ours.host(), 1 << 20, ours.fabrics());

        write(paths.live("evil"), new LiveEntry("stranger", evil, null, 0).toBytes());

        assertThat(namesOf(member.nodesNow(DEADLINE))).containsExactly("ours");
        assertThat(member.refusedRecords()).isPositive();
        Waits.until("the watch", () -> namesOf(member.nodes()).equals(List.of("ours")));
    }

    @Test
    void aProcessWithoutTheSecretOrWithAnotherOneDoesNotJoinAClusterThatHasOne()
            throws KeeperException, InterruptedException {
        demandSecret(open(OLD));

        CuratorDirectory without = open(null);
        CuratorDirectory other = open(NEW);
        CuratorDirectory trusting = open(NEW, true);

        assertThatThrownBy(() -> without.register(advert("a"), DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("\"%s\" has a secret, and this process has none", cluster);
        for (CuratorDirectory joining : List.of(other, trusting)) {
            assertThatThrownBy(() -> joining.register(advert("a"), DEADLINE))
                    .isInstanceOf(ClusterUnavailableException.class)
                    .hasMessageContaining("the secret of this process is not that of the cluster \"%s\"", cluster)
                    .hasMessageNotContaining(NEW);
        }
        assertThat(stranger.getChildren(paths.ids, false)).isEmpty();
        assertThat(open(OLD).register(advert("a"), DEADLINE).id()).isZero();
    }

    @Test
    void aClusterGivesUpItsSecret() {
        CuratorDirectory strict = open(OLD);
        assertThat(strict.create("name", bytes("content"), DEADLINE)).isTrue();
        demandSecret(strict);

        lead(open(OLD, true), "the secret is not demanded", () -> !exists(paths.signed));

        CuratorDirectory without = open(null);
        assertThat(without.read("name", DEADLINE)).isPresent();
        assertThat(without.create("unsigned", bytes("content"), DEADLINE)).isTrue();
    }

    @Test
    void aStrangersNodeThatTookANameIsReplaced() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        assertThat(member.nodesNow(DEADLINE)).isEmpty();
        NodeRecord evil =
                new NodeRecord("a", 0, 1, "host/boot", 1 << 20, advert("a").fabrics());
        write(paths.live("a"), new LiveEntry("stranger", evil, null, 0).toBytes());

        NodeRecord ours = member.register(advert("a"), DEADLINE);

        assertThat(member.nodesNow(DEADLINE)).containsExactly(ours);
    }

    @Test
    void aRegistrationWithoutDataHidesNoOther() throws KeeperException, InterruptedException {
        for (String secret : Arrays.asList(OLD, null)) {
            CuratorDirectory member = open(secret);
            String name = secret == null ? "without" : "with";
            NodeRecord ours = member.register(advert(name), DEADLINE);
            if (secret != null) {
                write(paths.live("empty"), null);
            }

            CuratorDirectory other = open(secret);
            NodeRecord others = other.register(advert("other-" + name), DEADLINE);

            Waits.until("the member sees both", () -> member.nodes().containsAll(List.of(ours, others)));
            Waits.until("the other sees both", () -> other.nodes().containsAll(List.of(ours, others)));
            assertThat(namesOf(member.nodesNow(DEADLINE))).doesNotContain("empty");
        }
    }

    @Test
    void aCandidateWithoutDataHidesNoOther() throws KeeperException, InterruptedException {
        Leadership first = open(OLD).leadership("first");
        Waits.until("the first one sees itself", () -> first.participants().equals(List.of("first")));

        write(paths.leader + "/empty-9999999999", null);

        Leadership second = open(OLD).leadership("second");
        Waits.until("the first one sees the second", () -> first.participants().contains("second"));
        second.close();
        first.close();
    }

    @Test
    void aRecordThatAStrangerRewroteIsRefused() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        assertThat(member.create("shop/grants", bytes("only us"), DEADLINE)).isTrue();
        byte[] unsigned = {0, 0, 0, 1, 'a', 'l', 'l'};

        write(paths.record("shop/grants"), unsigned);

        assertRefused(member, "shop/grants");
        byte[] changed = stored(paths.record("shop/grants"));
        assertThat(changed).isEqualTo(unsigned);
        assertThatThrownBy(() -> member.compareAndSet("shop/grants", 1, bytes("x"), DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class);
    }

    @Test
    void aZnodeThatNoNameIsEncodedLikeHidesNoName() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        assertThat(member.create("name", bytes("content"), DEADLINE)).isTrue();

        write(paths.bucketOf("name") + "/%zz", bytes("no name"));
        write(paths.bucketOf("name") + "/%6eame", bytes("the same name again"));

        assertThat(member.names("", 10, DEADLINE)).containsExactly("name");
    }

    @Test
    void aZnodeAmongTheIdsThatIsNoIdKeepsNoNodeAway() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        assertThat(member.nodesNow(DEADLINE)).isEmpty();

        write(paths.byId + "/none", bytes("none"));
        write(paths.byId + "/4711", bytes("none"));

        assertThat(member.register(advert("ours"), DEADLINE).id()).isZero();
    }

    @Test
    void aRecordIsNotValidAtAnotherPath() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        assertThat(member.create("mine", bytes("everybody may write"), DEADLINE))
                .isTrue();
        assertThat(member.create("ours", bytes("nobody may write"), DEADLINE)).isTrue();

        write(paths.record("ours"), stored(paths.record("mine")));

        assertRefused(member, "ours");
    }

    @Test
    void anOlderVersionOfARecordIsRefused() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        assertThat(member.create("name", bytes("granted"), DEADLINE)).isTrue();
        byte[] before = stored(paths.record("name"));
        int version = member.read("name", DEADLINE).orElseThrow().version();
        assertThat(member.compareAndSet("name", version, bytes("revoked"), DEADLINE))
                .isPresent();

        write(paths.record("name"), before);

        assertRefused(member, "name");
    }

    @Test
    void aRegistrationEndsWithItsSession() throws KeeperException, InterruptedException {
        CuratorDirectory first = open(OLD);
        NodeRecord unused = first.register(advert("a"), DEADLINE);
        byte[] registration = stored(paths.live("a"));
        first.close();
        CuratorDirectory other = open(OLD);
        Waits.until("it left", () -> other.nodesNow(DEADLINE).isEmpty());

        write(paths.live("a"), registration);

        assertThat(other.nodesNow(DEADLINE)).isEmpty();
    }

    @Test
    void nobodyFollowsAnEpochOfAStranger() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        NodeRecord ours = member.register(advert("ours"), DEADLINE);
        lead(member, "an epoch", () -> member.epoch().number() > 0);
        Epoch before = member.epochNow(DEADLINE);
        byte[] removesOurs = """
                {"number":%d,"members":[],"removals":[{"id":%d,"name":"ours","incarnation":%d,"epoch":%d,"fenced":false}]}""".formatted(before.number() + 1, ours.id(), ours.incarnation(), before.number() + 1)
                .getBytes(StandardCharsets.UTF_8);

        write(paths.epoch, removesOurs);

        long refusedBefore = member.refusedRecords();
        assertThatThrownBy(() -> member.epochNow(DEADLINE)).isInstanceOf(ClusterUnavailableException.class);
        assertThat(member.refusedRecords()).isGreaterThan(refusedBefore);
        assertThat(member.epoch()).isEqualTo(before);
    }

    /** Else the memory of an LMR could be given to another one while a process still has it mapped of which this node has not heard. */
    @Test
    void nobodyTakesANodeForGoneWhoseIdAStrangerRewrote() throws KeeperException, InterruptedException {
        CuratorDirectory member = open(OLD);
        NodeRecord ours = member.register(advert("ours"), DEADLINE);
        assertThat(member.incarnationsNow(DEADLINE)).containsEntry(ours.id(), ours.incarnation());

        write(paths.id("ours"), bytes("0"));

        assertThatThrownBy(() -> member.incarnationsNow(DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("is refused: it is not signed with the cluster's secret");
    }

    @Test
    void theSecretChangesInThreeSteps() throws KeeperException, InterruptedException {
        CuratorDirectory before = open(OLD);
        NodeRecord unused = before.register(advert("away"), DEADLINE);
        assertThat(before.create("name", bytes("content"), DEADLINE)).isTrue();
        demandSecret(before);
        before.close();

        CuratorDirectory accepts = open(OLD + "\n" + NEW);
        CuratorDirectory changed = open(NEW + "\n" + OLD);
        assertThat(changed.create("newer", bytes("content"), DEADLINE)).isTrue();
        assertThat(accepts.read("newer", DEADLINE)).isPresent();
        signAgain(changed);

        CuratorDirectory last = open(NEW);
        assertThat(last.read("name", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("content"));
        assertThat(last.claimId("away", NodeAdvert.NO_ID, DEADLINE)).isZero();
        assertThat(last.epochNow(DEADLINE).number()).isPositive();
        assertThat(last.refusedRecords()).isZero();
        assertThatThrownBy(() -> open(OLD).read("name", DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("the secret of this process is not that of the cluster");
    }

    @Test
    void aClusterWithoutASecretGetsOne() throws KeeperException, InterruptedException {
        CuratorDirectory before = open(null);
        NodeRecord unused = before.register(advert("away"), DEADLINE);
        assertThat(before.create("name", bytes("content"), DEADLINE)).isTrue();
        assertRefused(open(OLD), "name");

        CuratorDirectory upgrading = open(OLD, true);
        assertThat(upgrading.read("name", DEADLINE)).isPresent();
        before.close();
        Waits.until("it left", () -> upgrading.nodesNow(DEADLINE).isEmpty());
        signAgain(upgrading);

        CuratorDirectory strict = open(OLD);
        assertThat(strict.read("name", DEADLINE)).isPresent();
        assertThat(strict.claimId("away", NodeAdvert.NO_ID, DEADLINE)).isZero();
        assertThat(strict.refusedRecords()).isZero();
        assertThat(open(null).read("name", DEADLINE))
                .as("a reader without a secret")
                .isPresent();
        demandSecret(strict);
        assertThatThrownBy(() -> open(null).read("name", DEADLINE)).isInstanceOf(ClusterUnavailableException.class);
    }

    @Test
    void aManagerThatGetsASecretTooEarlyDoesNotKeepTheOthersFromStarting() {
        CuratorDirectory before = open(null);
        NodeRecord unused = before.register(advert("a"), DEADLINE);
        lead(before, "an epoch", () -> before.epoch().number() > 0);

        CuratorDirectory early = open(OLD);
        lead(early, "it refuses the epoch", () -> early.refusedRecords() > 0);

        assertThat(exists(paths.signed)).isFalse();
    }

    @Test
    void aZnodeThatIsNoRecordDoesNotKeepOthersFromBeingSignedAgain() throws KeeperException, InterruptedException {
        CuratorDirectory before = open(null);
        assertThat(before.create("name", bytes("content"), DEADLINE)).isTrue();
        assertThat(before.create("damaged", bytes("content"), DEADLINE)).isTrue();
        write(paths.record("damaged"), bytes("x"));
        write(paths.bucketOf("name") + "/%zz", bytes("no name"));

        signAgain(open(OLD, true));

        assertThat(open(OLD).read("name", DEADLINE)).isPresent();
    }

    /** To sign an id again counts as a registration, so the node would seem to have another process that nobody knows. */
    @Test
    void theIdOfANodeThatRegistersMeanwhileIsNotSignedAgain() throws Exception {
        CuratorDirectory before = open(OLD);
        NodeRecord former = before.register(advert("a"), DEADLINE);
        assertThat(before.create("name", bytes("content"), DEADLINE)).isTrue();
        before.close();
        CuratorDirectory node = open(OLD + "\n" + NEW);
        AtomicInteger reads = new AtomicInteger();
        CompletableFuture<NodeRecord> registered = new CompletableFuture<>();
        try (Gate gate = new Gate(zooKeeper.connectString(), read -> {
            // The first read is that of the start.
            if (read.path().equals(paths.signed) && reads.incrementAndGet() == 2) {
                registered.complete(node.register(advert("a"), DEADLINE));
            }
        })) {
            CuratorDirectory manager = open(gate.connectString(), NEW + "\n" + OLD, false);
            signAgain(manager);

            NodeRecord now = registered.getNow(former);
            assertThat(now.incarnation()).isGreaterThan(former.incarnation());
            assertThat(manager.incarnationsNow(DEADLINE)).containsEntry(now.id(), now.incarnation());
            manager.close();
        }
    }

    private void signAgain(CuratorDirectory manager) throws KeeperException, InterruptedException {
        byte[] name = stored(paths.record("name"));
        lead(manager, "the record is signed again", () -> !Arrays.equals(name, read(paths.record("name"))));
    }

    private void demandSecret(CuratorDirectory manager) {
        lead(manager, "the secret is demanded", () -> exists(paths.signed));
    }

    private boolean exists(String path) {
        try {
            return stranger.exists(path, false) != null;
        } catch (KeeperException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void lead(CuratorDirectory manager, String what, BooleanSupplier condition) {
        Leadership leadership = manager.leadership("manager");
        EpochKeeperThread keeping = manager.keepEpochs(leadership);
        try {
            Waits.until(what, condition);
        } finally {
            keeping.close();
            leadership.close();
        }
    }

    private byte[] read(String path) {
        try {
            return stored(path);
        } catch (KeeperException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void assertRefused(CuratorDirectory directory, String name) {
        long before = directory.refusedRecords();
        assertThatThrownBy(() -> directory.read(name, DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("is refused: it is not signed with the cluster's secret");
        assertThat(directory.refusedRecords()).isGreaterThan(before);
    }

    @Test
    void aSecretIsCheckedAndNeverPrinted() {
        assertThatThrownBy(() -> new Signing("short", false)).hasMessageContaining("at least 16 bytes");
        assertThatThrownBy(() -> new Signing("", false)).hasMessageContaining("has 0 lines");
        assertThatThrownBy(() -> new Signing("%1$s\n%1$s\n%1$s".formatted(OLD), false))
                .hasMessageContaining("has 3 lines");
        assertThat(new Signing(OLD, false).toString()).doesNotContain(OLD);
    }
}
