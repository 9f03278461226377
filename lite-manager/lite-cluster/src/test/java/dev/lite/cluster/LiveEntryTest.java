package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Registrations of older and newer versions. */
class LiveEntryTest {
    private static final NodeRecord NODE = new NodeRecord("a", 3, 7, "host/boot", 1 << 20, Map.of("shm", "/x"), 5);

    @Test
    void fieldsOfNewerVersionsAreIgnoredAndMissingOnesAreAbsent() {
        String text = new String(new LiveEntry("me", NODE, null, 0).toBytes(), StandardCharsets.UTF_8);
        assertThat(text).doesNotContain("managementUrl");
        String newer =
                text.replaceFirst("\\{", "{\"later\":{\"x\":[1]},").replace("\"name\"", "\"also later\":1,\"name\"");

        assertThat(LiveEntry.parse("/live/a", newer.getBytes(StandardCharsets.UTF_8)))
                .contains(new LiveEntry("me", NODE, null, 0));
    }

    @Test
    void whetherAnArenaIsVolatileIsReadBackAndOneOfAnOlderVersionIsNot() {
        NodeRecord embedded = new NodeRecord("a", 3, 7, "host/boot", 1 << 20, Map.of("shm", "/x"), 5, "", true);
        String text = new String(new LiveEntry("me", embedded, null, 0).toBytes(), StandardCharsets.UTF_8);
        assertThat(LiveEntry.parse("/live/a", text.getBytes(StandardCharsets.UTF_8)))
                .contains(new LiveEntry("me", embedded, null, 0));

        String older = text.replaceFirst("\"arenaVolatile\":true,|,\"arenaVolatile\":true", "");
        assertThat(older).doesNotContain("arenaVolatile");
        assertThat(LiveEntry.parse("/live/a", older.getBytes(StandardCharsets.UTF_8)))
                .contains(new LiveEntry("me", NODE, null, 0));
    }

    @Test
    void aManagementUrlIsReadBack() {
        LiveEntry entry = new LiveEntry("me", NODE, "http://a:1/actuator", 0);
        assertThat(LiveEntry.parse("/live/a", entry.toBytes())).contains(entry);
    }
}
