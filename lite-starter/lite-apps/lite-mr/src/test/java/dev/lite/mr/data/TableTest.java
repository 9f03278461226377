package dev.lite.mr.data;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.jobs.WordCount;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class TableTest {
    private static final Combiner MAXIMUM =
            (accumulated, value) -> accumulated.putLong(0, Math.max(accumulated.getLong(0), value.getLong(0)));

    /** The values of each key, in their order. */
    private static Map<String, List<Long>> content(Table table) {
        Map<String, List<Long>> content = new TreeMap<>();
        table.drain(
                new WordCount(),
                3,
                partition -> (key, value) -> content.computeIfAbsent(key.text(), text -> new ArrayList<>())
                        .add(value.getLong(0)));
        return content;
    }

    /** What is expected of pairs (word, 0), (word, 1), ... */
    private static Map<String, List<Long>> expected(@Nullable Combiner combiner, List<String> words) {
        Map<String, List<Long>> all = new TreeMap<>();
        for (int i = 0; i < words.size(); i++) {
            all.computeIfAbsent(words.get(i), word -> new ArrayList<>()).add((long) i);
        }
        if (combiner != null) {
            all.replaceAll((word, values) -> List.of(
                    combiner == MAXIMUM
                            ? Collections.max(values)
                            : values.stream().mapToLong(Long::longValue).sum()));
        }
        return all;
    }

    @Test
    void deferredPairsAreAddedLikeOthersAlsoWhileTheTableGrows() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        List<String> words = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            words.add("x".repeat(random.nextInt(20)) + Math.min(random.nextInt(9_000), random.nextInt(9_000)));
        }
        byte[] text = String.join(" ", words).getBytes(UTF_8);
        Combiner[] combiners = {Combiner.SUM, MAXIMUM, null};
        for (Combiner combiner : combiners) {
            Table table = new Table(combiner);
            int at = 0;
            for (int i = 0; i < words.size(); i++) {
                int length = words.get(i).length();
                if (i % 7 == 0) {
                    table.add(text, at, length, i);
                } else {
                    table.defer(text, at, length, i);
                }
                at += length + 1;
            }
            table.addDeferred();
            assertThat(content(table)).as("seed %d", seed).isEqualTo(expected(combiner, words));
        }
    }

    @Test
    void whatWasDeferredBeforeATableIsClearedIsNotAddedAfterwards() {
        Table table = new Table(Combiner.SUM);
        table.defer("former".getBytes(UTF_8), 0, 6, 1);
        table.clear();
        table.defer("later".getBytes(UTF_8), 0, 5, 1);
        table.addDeferred();
        assertThat(content(table)).isEqualTo(Map.of("later", List.of(1L)));
    }

    @Test
    void aClearedTableTakesFewerPairsAndAnotherCombiner() {
        Table table = new Table(Combiner.SUM);
        for (int round = 0; round < 12; round++) {
            int pairs = round == 0 ? 50_000 : 10;
            for (int i = 0; i < pairs; i++) {
                byte[] key = Integer.toString(i).getBytes(UTF_8);
                table.add(key, 0, key.length, round);
                table.add(key, 0, key.length, 1);
            }
            assertThat(table.count()).as("round %d", round).isEqualTo(pairs);
            long value = round % 2 == 0 ? round + 1L : Math.max(1, round);
            assertThat(content(table).values()).as("round %d", round).containsOnly(List.of(value));
            table.begin(round % 2 == 0 ? MAXIMUM : Combiner.SUM);
            assertThat(table.count()).isZero();
        }
    }

    @Test
    void aKeyOverTheLimitIsRefusedWhenItIsEmitted() {
        Table table = new Table(Combiner.SUM);
        int length = Emitter.KEY_BYTES_MAX + 1;
        assertThatThrownBy(() -> table.defer(new byte[length], 0, length, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the key has 32769 bytes; the limit is 32768");
        table.addDeferred();
        assertThat(table.count()).isZero();
    }
}
