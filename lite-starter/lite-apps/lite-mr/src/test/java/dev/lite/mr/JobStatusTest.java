package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("it changes the default locale")
class JobStatusTest {
    private final Locale before = Locale.getDefault();

    @AfterEach
    void restore() {
        Locale.setDefault(before);
    }

    @Test
    void theJobPageIsTheSameJsonInEveryLocale() {
        JobStatus status =
                new JobStatus("shop.Job", "map", 1, 23, 4, 56, 7, 89, List.of("w"), Map.of("records", 10L), List.of());
        Locale.setDefault(Locale.forLanguageTag("ar-EG"));
        assertThat("%d".formatted(1)).isNotEqualTo("1");
        assertThat(status.toJson())
                .isEqualTo("{\"job\":\"shop.Job\",\"phase\":\"map\",\"map\":{\"done\":1,\"total\":23},"
                        + "\"reduce\":{\"done\":4,\"total\":56},\"merge\":{\"done\":7,\"total\":89},"
                        + "\"workers\":[\"w\"],\"counters\":{\"records\":10},\"again\":[]}");
    }
}
