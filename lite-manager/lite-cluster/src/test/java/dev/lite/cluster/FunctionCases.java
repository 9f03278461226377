package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.testing.Waits;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The functions that nodes publish. */
interface FunctionCases extends DirectoryCases {

    private static void awaitServing(ClusterDirectory at, String function, String... nodes) {
        Waits.until(
                "the nodes that serve " + function + " are " + List.of(nodes),
                () -> at.nodesServing(function, DEADLINE).equals(List.of(nodes)));
    }

    @Test
    default void othersFindTheFunctionsOfANode() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        ClusterDirectory reader = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        NodeRecord b = other.register(advert("b"), DEADLINE);
        assertThat(reader.nodesServing("f", DEADLINE)).isEmpty();

        assertThat(one.publishFunctions(a, List.of(), DEADLINE)).isTrue();
        assertThat(one.publishFunctions(a, List.of("f", "ünïcode / name"), DEADLINE))
                .isTrue();
        assertThat(other.publishFunctions(b, List.of("f"), DEADLINE)).isTrue();
        awaitServing(reader, "f", "a", "b");
        awaitServing(reader, "ünïcode / name", "a");
        awaitServing(one, "f", "a", "b");

        assertThat(one.publishFunctions(a, List.of("g"), DEADLINE)).isTrue();
        awaitServing(reader, "f", "b");
        awaitServing(reader, "g", "a");
        assertThat(one.publishFunctions(a, List.of(), DEADLINE)).isTrue();
        awaitServing(reader, "g");
    }

    @Test
    default void theFunctionsOfANodeGoWithItsRegistrationAndCanBePublishedAgain() {
        ClusterDirectory one = open();
        ClusterDirectory reader = open();
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        NodeRecord before = one.register(advert("a"), DEADLINE);
        one.publishFunctions(before, List.of("f"), DEADLINE);
        awaitServing(reader, "f", "a");

        expire(one);

        Waits.until("it is registered again", () -> !recorded.registeredAgain.isEmpty());
        NodeRecord after = recorded.registeredAgain.getFirst();
        awaitServing(reader, "f");
        assertThat(one.publishFunctions(before, List.of("f"), DEADLINE)).isFalse();
        assertThat(one.publishFunctions(after, List.of("f"), DEADLINE)).isTrue();
        awaitServing(reader, "f", "a");
        one.close();
        awaitServing(reader, "f");
    }

    @Test
    default void aNodePublishesAsManyFunctionsAsItMayServeAndNoMoreBytesThanTheLimit() {
        ClusterDirectory one = open();
        ClusterDirectory reader = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        List<String> many =
                IntStream.range(0, 4096).mapToObj(i -> "%0100d".formatted(i)).toList();
        assertThat(one.publishFunctions(a, many, DEADLINE)).isTrue();
        awaitServing(reader, many.getLast(), "a");
        List<String> tooMany =
                IntStream.range(0, 4096).mapToObj(i -> "%0127d".formatted(i)).toList();
        assertThatThrownBy(() -> one.publishFunctions(a, tooMany, DEADLINE))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("4096 functions have 528384 bytes; the limit is 524288");
        assertThat(reader.nodesServing(Objects.requireNonNull(many.getFirst()), DEADLINE))
                .containsExactly("a");
    }
}
