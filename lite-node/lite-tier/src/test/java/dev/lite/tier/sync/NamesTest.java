package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NamesTest {
    private final Set<String> busy = new HashSet<>();
    private final List<String> ended = new ArrayList<>();
    private final Names<String> names = new Names<>("locks", 2, object -> !busy.contains(object), ended::add);

    @Test
    void aNameEndsWithItsLastSession() {
        assertThat(names.use("a", "app")).isNull();
        assertThat(names.add("a", 1, "A", "app")).isEqualTo("A");
        assertThat(names.add("a", 1, "too late", "app")).isEqualTo("A");
        assertThat(names.use("a", "app")).isEqualTo("A");
        names.leave("a", "app");
        names.leave("a", "app");
        assertThat(names.byId(1)).isEqualTo("A");
        assertThat(ended).isEmpty();

        names.leave("a", "app");

        assertThat(ended).containsExactly("A");
        assertThat(names.byId(1)).isNull();
        assertThat(names.use("a", "app")).isNull();
        assertThat(names.size()).isZero();
    }

    @Test
    void aNameWithATicketLeftEndsWhenItsRoomIsNeeded() {
        names.add("a", 1, "A", "app");
        busy.add("A");
        names.leave("a", "app");
        assertThat(names.byId(1)).as("it still answers for its ticket").isEqualTo("A");
        names.add("b", 2, "B", "app");
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> names.requireRoom("app"))
                .withMessage("this node's applications use 2 locks; the limit is 2");
        busy.clear();

        names.requireRoom("app");

        assertThat(ended).containsExactly("A");
        assertThat(names.all()).containsExactly("B");
    }

    @Test
    void moreNamesThanTheLimitAreUsedOneAfterTheOther() {
        for (int id = 0; id < 100; id++) {
            String name = "order-" + id;
            names.requireRoom("app");
            names.add(name, id, name, "app");
            names.leave(name, "app");
        }
        assertThat(names.size()).isZero();
        assertThat(ended).hasSize(100);
    }

    @Test
    void onePrincipalUsesHalfOfTheNamesAtMost() {
        Names<String> shared = new Names<>("locks", 100, object -> true, ended::add);
        for (int id = 0; id < 50; id++) {
            shared.requireRoom("greedy");
            shared.add("greedy/" + id, id, "", "greedy");
        }
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> shared.requireRoom("greedy"))
                .withMessageContaining("\"greedy\" uses 50 of the 50 locks")
                .withMessageContaining("the limit is 100");
        shared.requireRoom("other");
        assertThat(shared.use("greedy/7", "other")).isNotNull();
        for (int id = 0; id < 50; id++) {
            shared.leave("greedy/" + id, "greedy");
        }
        assertThat(shared.size()).as("the other principal still uses one").isOne();
        shared.requireRoom("greedy");
    }
}
