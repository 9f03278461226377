package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.read;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("it changes the default locale")
class LocaleTest {
    private final Locale before = Locale.getDefault();

    @AfterEach
    void restore() {
        Locale.setDefault(before);
    }

    @Test
    void processesWithDifferentDigitsShareALog() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            Locale.setDefault(Locale.ROOT);
            LiteLog log = fixture.create("digits", small());
            log.append(bytes("one"));

            Locale.setDefault(Locale.forLanguageTag("ar-EG"));
            assertThat("%d".formatted(7)).isNotEqualTo("7");
            LiteLog same = fixture.logs(0).open("digits");
            same.append(bytes("two"));

            assertThat(read(log.reader(log.firstPosition()))).containsExactly("one", "two");
            assertThat(read(same.reader(same.firstPosition()))).containsExactly("one", "two");
        }
    }
}
