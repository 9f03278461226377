package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What every directory does. A subclass supplies the directory and its faults. */
abstract class ClusterDirectoryContract {
    static final Duration DEADLINE = Waits.seconds(20);
    private static final int RACERS = 8;

    private final List<ClusterDirectory> opened = new ArrayList<>();
    private final List<Runnable> keepers = new ArrayList<>();

    /** Another session with the cluster of this test. */
    abstract ClusterDirectory openSession();

    /** Makes the directory unreachable for every session. */
    abstract void stopDirectory();

    /** Ends {@link #stopDirectory}. */
    abstract void startDirectory();

    /** Ends the session as the directory does with one that was silent for too long. */
    abstract void expire(ClusterDirectory session);

    /** Starts a manager that leads; what is returned stops it. */
    abstract Runnable startKeeper();

    final ClusterDirectory open() {
        ClusterDirectory directory = openSession();
        opened.add(directory);
        return directory;
    }

    final void keepEpochs() {
        keepers.add(startKeeper());
    }

    final void stopKeepers() {
        keepers.forEach(Runnable::run);
        keepers.clear();
    }

    @AfterEach
    void closeSessions() {
        stopKeepers();
        opened.forEach(ClusterDirectory::close);
    }

    static NodeAdvert advert(String name) {
        return new NodeAdvert(
                name, NodeAdvert.NO_ID, "host-of-" + name + "/boot", 1 << 20, Map.of("shm", "/x/" + name));
    }

    private static NodeAdvert holding(String name, int id) {
        return new NodeAdvert(name, id, "host", 1 << 20, Map.of());
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    // Records

    @Test
    void aListingSeesWhatEverySessionMadeAndRemovedBeforeIt() {
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        List<ClusterDirectory> sessions = List.of(open(), open());
        TreeSet<String> there = new TreeSet<>();
        for (int step = 0; step < 300; step++) {
            ClusterDirectory one = sessions.get(random.nextInt(2));
            String name = "%s/%d".formatted(random.nextBoolean() ? "a" : "b", random.nextInt(40));
            if (there.remove(name)) {
                int version = one.read(name, DEADLINE).orElseThrow().version();
                assertThat(one.delete(name, version, DEADLINE)).isTrue();
            } else {
                there.add(name);
                assertThat(one.create(name, bytes(name), DEADLINE)).isTrue();
            }
            if (step % 5 == 0) {
                String prefix = List.of("", "a", "a/1", "b/", "c").get(random.nextInt(5));
                String after = random.nextBoolean() ? "" : "a/" + random.nextInt(40);
                int limit = 1 + random.nextInt(20);
                assertThat(sessions.get(random.nextInt(2)).names(prefix, after, limit, DEADLINE))
                        .as("prefix \"%s\" after \"%s\" limit %d", prefix, after, limit)
                        .containsExactlyElementsOf(there.stream()
                                .filter(known -> known.startsWith(prefix) && known.compareTo(after) > 0)
                                .limit(limit)
                                .toList());
            }
        }
    }

    @Test
    void aRecordIsReadAsItWasCreatedByEverySession() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();

        assertThat(one.create("a", bytes("first"), DEADLINE)).isTrue();

        VersionedRecord read = other.read("a", DEADLINE).orElseThrow();
        assertThat(read.bytes()).isEqualTo(bytes("first"));
        assertThat(other.read("b", DEADLINE)).isEmpty();
    }

    @Test
    void creatingTheSameBytesAgainIsTrueAndOtherBytesFalse() {
        ClusterDirectory one = open();
        assertThat(one.create("a", bytes("first"), DEADLINE)).isTrue();
        int version = one.read("a", DEADLINE).orElseThrow().version();

        assertThat(one.create("a", bytes("first"), DEADLINE)).isTrue();
        assertThat(open().create("a", bytes("other"), DEADLINE)).isFalse();

        VersionedRecord read = one.read("a", DEADLINE).orElseThrow();
        assertThat(read.bytes()).isEqualTo(bytes("first"));
        assertThat(read.version()).isEqualTo(version);
    }

    @Test
    void aChangeNeedsTheVersionThatIsThere() {
        ClusterDirectory one = open();
        one.create("a", bytes("first"), DEADLINE);
        int first = one.read("a", DEADLINE).orElseThrow().version();

        int second = one.compareAndSet("a", first, bytes("second"), DEADLINE).orElseThrow();

        assertThat(second).isNotEqualTo(first);
        assertThat(one.compareAndSet("a", first, bytes("third"), DEADLINE)).isEmpty();
        assertThat(one.compareAndSet("a", -1, bytes("third"), DEADLINE)).isEmpty();
        assertThat(one.compareAndSet("nothing", 0, bytes("third"), DEADLINE)).isEmpty();
        VersionedRecord read = open().read("a", DEADLINE).orElseThrow();
        assertThat(read.bytes()).isEqualTo(bytes("second"));
        assertThat(read.version()).isEqualTo(second);
    }

    @Test
    void aDeletionNeedsTheVersionThatIsThere() {
        ClusterDirectory one = open();
        one.create("a", bytes("first"), DEADLINE);
        int first = one.read("a", DEADLINE).orElseThrow().version();
        int second = one.compareAndSet("a", first, bytes("second"), DEADLINE).orElseThrow();

        assertThat(one.delete("a", first, DEADLINE)).isFalse();
        assertThat(one.delete("a", -1, DEADLINE)).isFalse();
        assertThat(one.delete("a", second, DEADLINE)).isTrue();
        assertThat(one.delete("a", second, DEADLINE)).isTrue();
        assertThat(one.read("a", DEADLINE)).isEmpty();
    }

    @Test
    void aNameThatIsMadeAgainNeverHasAVersionThatItHadBefore() {
        ClusterDirectory one = open();
        one.create("a", bytes("old"), DEADLINE);
        int old = one.read("a", DEADLINE).orElseThrow().version();
        one.delete("a", old, DEADLINE);
        one.create("a", bytes("new"), DEADLINE);

        assertThat(one.compareAndSet("a", old, bytes("meant for the old one"), DEADLINE))
                .isEmpty();
        assertThat(one.delete("a", old, DEADLINE)).isFalse();
        assertThat(one.read("a", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("new"));
    }

    @Test
    void aChangeNeverHitsARecordThatWasMadeAgainMeanwhile() {
        ClusterDirectory maker = open();
        ClusterDirectory changer = open();
        AtomicBoolean done = new AtomicBoolean();
        race(racer -> {
            if (racer > 0) {
                while (!done.get()) {
                    changer.read("a", DEADLINE).ifPresent(read -> {
                        byte[] changed = bytes(new String(read.bytes(), StandardCharsets.UTF_8) + "+");
                        changer.compareAndSet("a", read.version(), changed, DEADLINE);
                    });
                }
                return true;
            }
            try {
                for (int generation = 0; generation < 200; generation++) {
                    assertThat(maker.create("a", bytes(generation + ":"), DEADLINE))
                            .isTrue();
                    VersionedRecord read;
                    do {
                        read = maker.read("a", DEADLINE).orElseThrow();
                        assertThat(new String(read.bytes(), StandardCharsets.UTF_8))
                                .startsWith(generation + ":");
                    } while (!maker.delete("a", read.version(), DEADLINE));
                }
            } finally {
                done.set(true);
            }
            return true;
        });
    }

    @Test
    void exactlyOneOfManyChangesOfAVersionWins() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        one.create("a", bytes("0"), DEADLINE);
        int version = one.read("a", DEADLINE).orElseThrow().version();
        for (int round = 1; round <= 20; round++) {
            int expected = version;
            String text = Integer.toString(round);
            List<Optional<Integer>> answers = race(racer -> {
                ClusterDirectory directory = racer % 2 == 0 ? one : other;
                return directory.compareAndSet("a", expected, bytes(text + ":" + racer), DEADLINE);
            });

            List<Integer> winners = IntStream.range(0, RACERS)
                    .filter(racer -> answers.get(racer).isPresent())
                    .boxed()
                    .toList();
            assertThat(winners).hasSize(1);
            VersionedRecord read = other.read("a", DEADLINE).orElseThrow();
            assertThat(read.bytes()).isEqualTo(bytes(text + ":" + winners.getFirst()));
            version = answers.get(winners.getFirst()).orElseThrow();
            assertThat(read.version()).isEqualTo(version);
        }
    }

    @Test
    void exactlyOneOfManyCreatorsWithOtherBytesWins() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();

        List<Boolean> answers =
                race(racer -> (racer % 2 == 0 ? one : other).create("a", bytes("by " + racer), DEADLINE));

        assertThat(answers).containsOnlyOnce(true);
        assertThat(one.read("a", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("by " + answers.indexOf(true)));
    }

    @Test
    void incrementsOfManyThreadsAreAllCountedAlsoWhileNeighboursAreDeleted() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        one.create("counter", bytes("0"), DEADLINE);
        // Names of the counter's own bucket, whose deletions get in the way of its changes.
        List<String> neighbours = IntStream.range(0, 100_000)
                .mapToObj(number -> "neighbour " + number)
                .filter(name -> RecordName.bucket(name) == RecordName.bucket("counter"))
                .limit(RACERS)
                .toList();
        int rounds = 10;

        race(racer -> {
            ClusterDirectory directory = racer % 2 == 0 ? one : other;
            for (int round = 0; round < rounds; round++) {
                increment(directory, "counter");
                assertThat(directory.create(neighbours.get(racer), bytes("x"), DEADLINE))
                        .isTrue();
                int version = directory
                        .read(neighbours.get(racer), DEADLINE)
                        .orElseThrow()
                        .version();
                assertThat(directory.delete(neighbours.get(racer), version, DEADLINE))
                        .isTrue();
            }
            return true;
        });

        assertThat(one.read("counter", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("" + RACERS * rounds));
    }

    private static void increment(ClusterDirectory directory, String name) {
        while (true) {
            VersionedRecord read = directory.read(name, DEADLINE).orElseThrow();
            int next = Integer.parseInt(new String(read.bytes(), StandardCharsets.UTF_8)) + 1;
            if (directory
                    .compareAndSet(name, read.version(), bytes(Integer.toString(next)), DEADLINE)
                    .isPresent()) {
                return;
            }
        }
    }

    @Test
    void aRecordMayBeEmptyAndMayHaveUpToTheLimit() {
        ClusterDirectory one = open();
        byte[] longest = new byte[ClusterDirectory.RECORD_BYTES_MAX];
        longest[longest.length - 1] = 1;

        assertThat(one.create("empty", new byte[0], DEADLINE)).isTrue();
        assertThat(one.create("longest", longest, DEADLINE)).isTrue();

        assertThat(one.read("empty", DEADLINE).orElseThrow().bytes()).isEmpty();
        assertThat(one.read("longest", DEADLINE).orElseThrow().bytes()).isEqualTo(longest);
        byte[] tooLong = new byte[ClusterDirectory.RECORD_BYTES_MAX + 1];
        assertThatThrownBy(() -> one.create("too long", tooLong, DEADLINE))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("too long")
                .hasMessageContaining("524289")
                .hasMessageContaining("524288");
        assertThatThrownBy(() -> one.compareAndSet("empty", 0, tooLong, DEADLINE))
                .isInstanceOf(LimitExceededException.class);
    }

    @Test
    void aRecordIsTheCallersOwnCopy() {
        ClusterDirectory one = open();
        byte[] record = bytes("abc");
        one.create("a", record, DEADLINE);
        record[0] = 'x';
        one.read("a", DEADLINE).orElseThrow().bytes()[1] = 'x';

        assertThat(one.read("a", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("abc"));
    }

    @Test
    void everyAllowedNameIsKeptAsItIs() {
        ClusterDirectory one = open();
        List<String> names = List.of(
                "/",
                "/a/b//c/",
                ".",
                "..",
                "a b+c%2F%zz",
                "zookeeper",
                "Grüße, 世界 🌍",
                "x".repeat(512),
                "/".repeat(512),
                "é".repeat(256));
        for (String name : names) {
            assertThat(one.create(name, bytes("of " + name), DEADLINE)).isTrue();
        }
        for (String name : names) {
            assertThat(one.read(name, DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("of " + name));
        }
        assertThat(one.names("", 100, DEADLINE))
                .containsExactlyElementsOf(names.stream().sorted().toList());
    }

    @Test
    void aNameThatIsNotAllowedIsRefusedBeforeAnythingIsAsked() {
        ClusterDirectory one = open();
        for (String name : List.of("", " ", "x".repeat(513), "a\nb", "half a pair \ud83c")) {
            assertThatThrownBy(() -> one.create(name, bytes("x"), DEADLINE))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> one.read(name, DEADLINE)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> one.compareAndSet(name, 0, bytes("x"), DEADLINE))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> one.delete(name, 0, DEADLINE)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> one.names("", 0, DEADLINE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0");
    }

    @Test
    void twoThousandNamesAreListedSortedByPrefixAndUpToTheLimit() {
        ClusterDirectory one = open();
        race(racer -> {
            for (int number = racer; number < 2000; number += RACERS) {
                one.create("%s/%04d".formatted(number % 2 == 0 ? "even" : "odd", number), bytes("x"), DEADLINE);
            }
            return true;
        });

        assertThat(one.names("", 5000, DEADLINE)).hasSize(2000).isSorted();
        assertThat(one.names("odd/", 5000, DEADLINE)).hasSize(1000).allMatch(name -> name.startsWith("odd/"));
        assertThat(one.names("even/", 3, DEADLINE)).containsExactly("even/0000", "even/0002", "even/0004");
        assertThat(one.names("odd/1999", 3, DEADLINE)).containsExactly("odd/1999");
        assertThat(one.names("none", 3, DEADLINE)).isEmpty();
    }

    @Test
    void aListingGoesOnAfterTheLastNameOfTheOneBefore() {
        ClusterDirectory one = open();
        for (String name : List.of("a", "b/1", "b/2", "b/3", "b/4", "c")) {
            one.create(name, bytes("x"), DEADLINE);
        }

        assertThat(one.names("b/", "", 3, DEADLINE)).containsExactly("b/1", "b/2", "b/3");
        assertThat(one.names("b/", "b/3", 3, DEADLINE)).containsExactly("b/4");
        assertThat(one.names("b/", "b/4", 3, DEADLINE)).isEmpty();
        assertThat(one.names("b/", "a", 1, DEADLINE)).containsExactly("b/1");
        assertThat(one.names("b/", "c", 3, DEADLINE)).isEmpty();
        // A name that was removed meanwhile still says where to go on.
        assertThat(one.names("b/", "b/2 was here", 3, DEADLINE)).containsExactly("b/3", "b/4");
        assertThat(one.names("", "b/3", 9, DEADLINE)).containsExactly("b/4", "c");
    }

    // Nodes

    @Test
    void aNodeIsSeenByEverySessionFromItsRegistrationToItsEnd() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        RecordingListener told = new RecordingListener();
        other.addListener(told);

        NodeRecord registered = one.register(advert("a"), DEADLINE);

        assertThat(registered)
                .isEqualTo(new NodeRecord(
                        "a", 0, registered.incarnation(), "host-of-a/boot", 1 << 20, Map.of("shm", "/x/a")));
        assertThat(other.nodesNow(DEADLINE)).containsExactly(registered);
        Waits.until("the join is told", () -> told.lastNodes().equals(List.of("a")));
        assertThat(other.nodes()).containsExactly(registered);

        one.close();

        Waits.until("the leave is told", () -> told.lastNodes().isEmpty());
        assertThat(other.nodesNow(DEADLINE)).isEmpty();
        assertThat(other.nodes()).isEmpty();
    }

    @Test
    void aListenerThatComesLateIsToldTheNodesThatAreThere() {
        ClusterDirectory one = open();
        one.register(advert("a"), DEADLINE);
        Waits.until("the node is heard of", () -> !one.nodes().isEmpty());
        RecordingListener late = new RecordingListener();

        one.addListener(late);

        Waits.until("the node is told", () -> late.lastNodes().equals(List.of("a")));
    }

    @Test
    void aListenerThatThrowsDoesNotKeepOthersFromBeingTold() {
        ClusterDirectory one = open();
        one.addListener(new DirectoryListener() {
            @Override
            public void nodesChanged(List<NodeRecord> nodes) {
                throw new IllegalStateException("thrown by a test");
            }
        });
        RecordingListener told = new RecordingListener();
        one.addListener(told);

        one.register(advert("a"), DEADLINE);

        Waits.until("the node is told", () -> told.lastNodes().equals(List.of("a")));
    }

    @Test
    void nodesOfDifferentNamesGetDifferentIdsAndAreListedInTheirOrder() {
        List<NodeRecord> registered = race(racer -> open().register(advert("node-" + (RACERS - racer)), DEADLINE));

        assertThat(registered.stream().map(NodeRecord::id))
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, RACERS).boxed().toList());
        assertThat(open().nodesNow(DEADLINE).stream().map(NodeRecord::id))
                .containsExactlyElementsOf(IntStream.range(0, RACERS).boxed().toList());
    }

    @Test
    void aNodeThatComesBackHasItsIdAndALargerIncarnation() {
        open().register(advert("other"), DEADLINE);
        ClusterDirectory first = open();
        NodeRecord before = first.register(advert("a"), DEADLINE);
        first.close();
        ClusterDirectory between = open();
        between.register(advert("between"), DEADLINE);

        NodeRecord after = open().register(holding("a", before.id()), DEADLINE);

        assertThat(after.id()).isEqualTo(before.id()).isEqualTo(1);
        assertThat(after.incarnation()).isGreaterThan(before.incarnation());
    }

    @Test
    void aHeldIdIsKeptOrRefused() {
        NodeRecord held = open().register(holding("a", 7), DEADLINE);
        assertThat(held.id()).isEqualTo(7);

        assertThatThrownBy(() -> open().register(holding("b", 7), DEADLINE))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("\"b\"")
                .hasMessageContaining("id 7")
                .hasMessageContaining("\"a\"");
        NodeRecord other = open().register(advert("c"), DEADLINE);
        assertThatThrownBy(() -> open().register(holding("c", 9), DEADLINE))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("id 9")
                .hasMessageContaining("id " + other.id());
        assertThatThrownBy(() -> open().register(holding("d", 1024), DEADLINE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("1024")
                .hasMessageContaining("1023");
    }

    @Test
    void anIdThatIsAskedForFirstIsTheOneOfTheRegistration() {
        ClusterDirectory one = open();
        assertThat(one.claimId("a", 3, DEADLINE)).isEqualTo(3);
        assertThat(one.claimId("b", NodeAdvert.NO_ID, DEADLINE)).isZero();
        assertThat(one.claimId("b", NodeAdvert.NO_ID, DEADLINE)).isZero();
        assertThat(one.nodesNow(DEADLINE)).isEmpty();

        assertThat(one.register(advert("a"), DEADLINE).id()).isEqualTo(3);
        assertThatThrownBy(() -> one.claimId("c", 3, DEADLINE)).isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(() -> one.claimId("c/d", NodeAdvert.NO_ID, DEADLINE))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aSecondNodeOfALiveNameIsRefusedWithTheHostOfTheFirst() {
        NodeRecord first = open().register(advert("a"), DEADLINE);
        ClusterDirectory second = open();

        assertThatThrownBy(() -> second.register(advert("a"), Waits.seconds(2)))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("\"a\"")
                .hasMessageContaining("host-of-a");
        assertThat(second.nodesNow(DEADLINE)).containsExactly(first);
        assertThat(second.register(advert("b"), DEADLINE).id()).isEqualTo(1);
    }

    @Test
    void oneDirectoryRegistersOneNode() {
        ClusterDirectory one = open();
        one.register(advert("a"), DEADLINE);

        assertThatThrownBy(() -> one.register(advert("b"), DEADLINE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("\"a\"");
    }

    // Epochs

    private static void awaitMembers(ClusterDirectory directory, NodeRecord... nodes) {
        List<Epoch.Member> members = Arrays.stream(nodes)
                .map(node -> new Epoch.Member(node.id(), node.name(), node.incarnation()))
                .toList();
        Waits.until("the epoch of " + members, () -> directory.epoch().members().equals(members));
    }

    @Test
    void everyChangeOfTheMembershipMakesTheNextEpoch() {
        ClusterDirectory one = open();
        RecordingListener told = new RecordingListener();
        one.addListener(told);
        assertThat(one.epoch()).isEqualTo(Epoch.NONE);
        assertThat(one.epochNow(DEADLINE)).isEqualTo(Epoch.NONE);
        keepEpochs();

        NodeRecord a = one.register(advert("a"), DEADLINE);
        awaitMembers(one, a);
        NodeRecord b = open().register(advert("b"), DEADLINE);
        awaitMembers(one, a, b);

        assertThat(one.epochNow(DEADLINE)).isEqualTo(one.epoch());
        Waits.until("it is told", () -> told.epochs.contains(one.epoch()));
        assertThat(told.epochs).isSortedAccordingTo(Comparator.comparingLong(Epoch::number));
        assertThat(told.epochs.getLast().removals()).isEmpty();
        RecordingListener late = new RecordingListener();
        one.addListener(late);
        Waits.until("a late listener is told", () -> late.epochs.equals(List.of(one.epoch())));
    }

    @Test
    void aRemovalIsFencedOnlyWhenEveryLiveNodeHasAcknowledgedIt() {
        ClusterDirectory one = open();
        ClusterDirectory two = open();
        ClusterDirectory three = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        NodeRecord b = two.register(advert("b"), DEADLINE);
        NodeRecord c = three.register(advert("c"), DEADLINE);
        keepEpochs();
        awaitMembers(one, a, b, c);

        three.close();
        awaitMembers(one, a, b);
        awaitMembers(two, a, b);

        Epoch removed = one.epoch();
        assertThat(removed.pending())
                .containsExactly(new Epoch.Removal(c.id(), "c", c.incarnation(), removed.number(), false));
        assertThat(removed.isRemoved(c.id(), c.incarnation())).isTrue();
        assertThat(removed.isRemoved(c.id(), c.incarnation() + 1)).isFalse();
        assertThat(one.acknowledge(a, removed.number(), DEADLINE)).isTrue();
        assertThat(two.acknowledge(b, removed.number() - 1, DEADLINE)).isTrue();
        LockSupport.parkNanos(Waits.scaled(Duration.ofMillis(200)).toNanos());
        assertThat(one.epochNow(DEADLINE)).isEqualTo(removed);

        assertThat(two.acknowledge(b, removed.number(), DEADLINE)).isTrue();
        assertThat(two.acknowledge(b, removed.number() - 1, DEADLINE)).isTrue(); // says nothing new

        Waits.until("it is fenced", () -> one.epoch().isFenced(c.id(), c.incarnation()));
        assertThat(one.epoch().number()).isEqualTo(removed.number());
        assertThat(one.epoch().pending()).isEmpty();
        assertThat(one.epoch().isFenced(c.id(), c.incarnation() + 1)).isFalse();
        Waits.until("the other hears it", () -> two.epoch().equals(one.epoch()));
    }

    @Test
    void anAcknowledgementEndsWithItsRegistration() {
        ClusterDirectory one = open();
        ClusterDirectory two = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        two.register(advert("b"), DEADLINE);
        RecordingListener told = new RecordingListener();
        one.addListener(told);
        keepEpochs();
        assertThat(one.acknowledge(a, 1000, DEADLINE)).isTrue();
        expire(one);
        Waits.until("it is registered again", () -> !told.registeredAgain.isEmpty());
        NodeRecord again = told.registeredAgain.getFirst();

        two.close();
        awaitMembers(one, again);

        Epoch removed = one.epoch();
        assertThat(removed.isRemoved(a.id(), a.incarnation())).isTrue();
        assertThat(one.acknowledge(a, removed.number(), DEADLINE)).isFalse();
        LockSupport.parkNanos(Waits.scaled(Duration.ofMillis(200)).toNanos());
        assertThat(one.epochNow(DEADLINE).pending()).hasSize(2);

        assertThat(one.acknowledge(again, removed.number(), DEADLINE)).isTrue();

        Waits.until("both are fenced", () -> one.epoch().pending().isEmpty());
        assertThat(one.epoch().isFenced(a.id(), a.incarnation())).isTrue();
        assertThat(one.epoch().isFenced(again.id(), again.incarnation())).isFalse();
    }

    @Test
    void withoutAKeeperNobodyIsRemovedAndOneThatComesMakesUpForWhatWasMissed() {
        ClusterDirectory one = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        keepEpochs();
        awaitMembers(one, a);
        stopKeepers();
        Epoch before = one.epoch();

        ClusterDirectory passing = open();
        NodeRecord b = passing.register(advert("b"), DEADLINE);
        passing.close();
        Waits.until("it came and went", () -> one.nodes().equals(List.of(a)));
        assertThat(one.epochNow(DEADLINE)).isEqualTo(before);

        keepEpochs();

        Waits.until("who was never a member is removed, too", () -> one.epoch().isRemoved(b.id(), b.incarnation()));
        assertThat(one.epoch().number()).isEqualTo(before.number() + 1);
    }

    @Test
    void onlyARegisteredNodeAcknowledges() {
        ClusterDirectory one = open();
        NodeRecord a = open().register(advert("a"), DEADLINE);

        assertThatThrownBy(() -> one.acknowledge(a, 1, DEADLINE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("\"a\"");
    }

    // Faults

    @Test
    void anExpiredRegistrationIsMadeAgainWithALargerIncarnation() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        RecordingListener told = new RecordingListener();
        one.addListener(told);
        NodeRecord before = one.register(advert("a"), DEADLINE);

        expire(one);

        Waits.until("it is registered again", () -> !told.registeredAgain.isEmpty());
        NodeRecord after = told.registeredAgain.getFirst();
        assertThat(after.id()).isEqualTo(before.id());
        assertThat(after.incarnation()).isGreaterThan(before.incarnation());
        assertThat(told.lostAndFound).first().isEqualTo("lost");
        assertThat(other.nodesNow(DEADLINE)).containsExactly(after);
        Waits.until("others see it", () -> other.nodes().equals(List.of(after)));
    }

    @Test
    void nobodyIsRegisteredAnewBeforeItHasGivenUpWhatItHad() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        CountDownLatch lost = new CountDownLatch(1);
        CountDownLatch givenUp = new CountDownLatch(1);
        one.addListener(new DirectoryListener() {
            @Override
            public void registrationLost() {
                lost.countDown();
                await(givenUp);
            }
        });
        NodeRecord before = one.register(advert("a"), DEADLINE);

        expire(one);
        await(lost);

        LockSupport.parkNanos(Waits.scaled(Duration.ofMillis(200)).toNanos());
        assertThat(other.nodesNow(DEADLINE)).isEmpty();
        givenUp.countDown();
        Waits.until("it is there", () -> !other.nodesNow(DEADLINE).isEmpty());
        assertThat(other.nodesNow(DEADLINE).getFirst().incarnation()).isGreaterThan(before.incarnation());
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(DEADLINE.toNanos(), TimeUnit.NANOSECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }

    @Test
    void whileTheDirectoryIsAwayCallsFailAtOnceAndAfterwardsEverythingIsBackByItself() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        RecordingListener told = new RecordingListener();
        one.addListener(told);
        NodeRecord node = one.register(advert("a"), DEADLINE);
        one.create("kept", bytes("x"), DEADLINE);
        Waits.until("the node is heard of", () -> one.nodes().equals(List.of(node)));

        stopDirectory();
        Waits.until("it is told", () -> told.availability.contains(false));

        assertThat(one.isAvailable()).isFalse();
        assertThat(one.nodes()).containsExactly(node);
        long startNs = System.nanoTime();
        for (Callable<?> call : List.<Callable<?>>of(
                () -> one.create("b", bytes("x"), DEADLINE),
                () -> one.read("kept", DEADLINE),
                () -> one.compareAndSet("kept", 0, bytes("x"), DEADLINE),
                () -> one.delete("kept", 0, DEADLINE),
                () -> one.names("", 1, DEADLINE),
                () -> one.epochNow(DEADLINE),
                () -> one.acknowledge(node, 1, DEADLINE),
                () -> one.nodesNow(DEADLINE))) {
            assertThatThrownBy(call::call).isInstanceOf(ClusterUnavailableException.class);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(Waits.seconds(1));

        startDirectory();

        Waits.until("both are back", () -> one.isAvailable() && other.isAvailable());
        // Listeners are told on their own thread, after the state that they are told of.
        Waits.until("it is told of both", () -> told.availability.getLast());
        assertThat(told.availability).endsWith(false, true);
        assertThat(other.read("kept", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("x"));
        Waits.until("the node is there", () -> namesOf(other.nodesNow(DEADLINE)).equals(List.of("a")));
    }

    @Test
    void aClosedDirectorySaysSo() {
        ClusterDirectory one = open();
        one.create("a", bytes("x"), DEADLINE);
        one.close();
        one.close();

        assertThat(one.isAvailable()).isFalse();
        assertThatThrownBy(() -> one.read("a", DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("closed");
    }

    static List<String> namesOf(List<NodeRecord> nodes) {
        return nodes.stream().map(NodeRecord::name).toList();
    }

    interface Racer<T> {
        T run(int racer);
    }

    /** What every racer returned; they start together. */
    static <T> List<T> race(Racer<T> racer) {
        try (ExecutorService threads = Executors.newFixedThreadPool(RACERS)) {
            List<Future<T>> running = IntStream.range(0, RACERS)
                    .mapToObj(number -> threads.submit(() -> racer.run(number)))
                    .toList();
            List<T> results = new ArrayList<>();
            for (Future<T> future : running) {
                results.add(future.get());
            }
            return results;
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError("a racer failed", e);
        }
    }
}
