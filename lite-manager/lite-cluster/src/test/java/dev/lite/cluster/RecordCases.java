package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.RACERS;
import static dev.lite.cluster.ClusterDirectoryContract.bytes;
import static dev.lite.cluster.ClusterDirectoryContract.race;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Records: creating, changing, deleting and listing them. */
interface RecordCases extends DirectoryCases {

    @Test
    default void aListingReflectsAllEarlierChangesOfEverySession() {
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
    default void everySessionReadsARecordAsItWasCreated() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();

        assertThat(one.create("a", bytes("first"), DEADLINE)).isTrue();

        VersionedRecord read = other.read("a", DEADLINE).orElseThrow();
        assertThat(read.bytes()).isEqualTo(bytes("first"));
        assertThat(other.read("b", DEADLINE)).isEmpty();
    }

    @Test
    default void creatingTheSameBytesAgainSucceedsAndOtherBytesFails() {
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
    default void aChangeNeedsTheCurrentVersion() {
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
    default void aDeletionNeedsTheCurrentVersion() {
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
    default void aRecreatedNameNeverReusesAVersion() {
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
    default void aChangeNeverAffectsARecreatedRecord() {
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
    default void exactlyOneOfManyChangesOfAVersionWins() {
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
    default void exactlyOneOfManyCreatorsWithOtherBytesWins() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();

        List<Boolean> answers =
                race(racer -> (racer % 2 == 0 ? one : other).create("a", bytes("by " + racer), DEADLINE));

        assertThat(answers).containsOnlyOnce(true);
        assertThat(one.read("a", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("by " + answers.indexOf(true)));
    }

    @Test
    default void noIncrementIsLostEvenWhileNeighboursAreDeleted() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        one.create("counter", bytes("0"), DEADLINE);
        // Names in the counter's own bucket, so that their deletions conflict with its changes.
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
    default void aRecordMayBeEmptyAndAsLongAsTheLimit() {
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
    default void aReturnedRecordIsACopy() {
        ClusterDirectory one = open();
        byte[] record = bytes("abc");
        one.create("a", record, DEADLINE);
        record[0] = 'x';
        one.read("a", DEADLINE).orElseThrow().bytes()[1] = 'x';

        assertThat(one.read("a", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("abc"));
    }

    @Test
    default void everyAllowedNameIsKeptUnchanged() {
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
    default void anInvalidNameIsRefusedBeforeARequestIsSent() {
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
    default void twoThousandNamesAreListedSortedByPrefixAndUpToTheLimit() {
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
    default void aListingContinuesAfterTheLastNameOfThePreviousOne() {
        ClusterDirectory one = open();
        for (String name : List.of("a", "b/1", "b/2", "b/3", "b/4", "c")) {
            one.create(name, bytes("x"), DEADLINE);
        }

        assertThat(one.names("b/", "", 3, DEADLINE)).containsExactly("b/1", "b/2", "b/3");
        assertThat(one.names("b/", "b/3", 3, DEADLINE)).containsExactly("b/4");
        assertThat(one.names("b/", "b/4", 3, DEADLINE)).isEmpty();
        assertThat(one.names("b/", "a", 1, DEADLINE)).containsExactly("b/1");
        assertThat(one.names("b/", "c", 3, DEADLINE)).isEmpty();
        // The listing can continue after a name that was removed meanwhile.
        assertThat(one.names("b/", "b/2 was here", 3, DEADLINE)).containsExactly("b/3", "b/4");
        assertThat(one.names("", "b/3", 9, DEADLINE)).containsExactly("b/4", "c");
    }
}
