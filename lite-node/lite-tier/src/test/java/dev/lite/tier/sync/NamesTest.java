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
        assertThat(names.use("a")).isNull();
        assertThat(names.add("a", 1, "A")).isEqualTo("A");
        assertThat(names.add("a", 1, "too late")).isEqualTo("A");
        assertThat(names.use("a")).isEqualTo("A");
        names.leave("a");
        names.leave("a");
        assertThat(names.byId(1)).isEqualTo("A");
        assertThat(ended).isEmpty();

        names.leave("a");

        assertThat(ended).containsExactly("A");
        assertThat(names.byId(1)).isNull();
        assertThat(names.use("a")).isNull();
        assertThat(names.size()).isZero();
    }

    @Test
    void aNameWithATicketLeftEndsWhenItsRoomIsNeeded() {
        names.add("a", 1, "A");
        busy.add("A");
        names.leave("a");
        assertThat(names.byId(1)).as("it still answers for its ticket").isEqualTo("A");
        names.add("b", 2, "B");
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(names::requireRoom)
                .withMessage("this node's applications use 2 locks; the limit is 2");
        busy.clear();

        names.requireRoom();

        assertThat(ended).containsExactly("A");
        assertThat(names.all()).containsExactly("B");
    }

    @Test
    void moreNamesThanTheLimitAreUsedOneAfterTheOther() {
        for (int id = 0; id < 100; id++) {
            String name = "order-" + id;
            names.requireRoom();
            names.add(name, id, name);
            names.leave(name);
        }
        assertThat(names.size()).isZero();
        assertThat(ended).hasSize(100);
    }
}
