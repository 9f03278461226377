package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The end of a log. */
class DeleteTest {
    private static LogFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new LogFixture(1);
    }

    @AfterAll
    static void stop() throws IOException {
        fixture.close();
    }

    private static void fill(LiteLog log, long segments) {
        while (LogPosition.segment(log.append(bytes("something to fill segments"))) < segments - 1) {}
    }

    private static boolean isGone(String segment) {
        try {
            fixture.session(0).memory().map(segment, Permission.MASTER).unmap();
            return false;
        } catch (LmrNotFoundException e) {
            return true;
        }
    }

    @Test
    void aLogWithASegmentOfAnotherPrincipalIsNotChangedByARefusedDelete() {
        LiteLogs logs = fixture.logs(0);
        LiteLog log = logs.create(
                "shared", small().withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC));
        log.append(bytes("first"));
        try (Lite other = fixture.cluster.nodes().getFirst().attach("stranger");
                LiteLogs theirs = new LiteLogs(other)) {
            fill(theirs.open("shared"), 3);
            assertThatThrownBy(() -> logs.delete("shared")).isInstanceOf(LmrPermissionException.class);
            assertThat(LogFixture.read(logs.open("shared").reader(0))).startsWith("first");
            assertThat(log.append(bytes("works"))).isNotNegative();
        }
    }

    @Test
    void aSegmentThatACleanerLeftIsFreedWithTheLog() {
        LiteLogs logs = fixture.logs(0);
        LiteLog log = logs.create("left", small());
        fill(log, 4);
        LmrHandle metadata = fixture.session(0).memory().map("left.log", Permission.READ, Permission.ATOMIC);
        metadata.fetchAdd(2048, 2); // like a cleaner that dies before it frees what it has removed
        List<String> segments =
                LongStream.range(0, 4).mapToObj(log::segmentName).toList();
        logs.delete("left");
        assertThat(segments).allMatch(DeleteTest::isGone);
    }

    @Test
    void aSegmentThatIsUnavailableKeepsNoLaterOneFromBeingFreed() {
        LiteLog log = fixture.create("unavailable", small());
        fill(log, 4);
        AtomicBoolean fails = new AtomicBoolean(true);
        LiteLogs logs = new LiteLogs(FaultySession.unavailable(fixture.session(0), "/1", fails::get));
        assertThatThrownBy(() -> logs.delete("unavailable"))
                .isInstanceOf(LmrUnavailableException.class)
                .hasMessageContaining("/1");
        assertThat(isGone(log.segmentName(1))).isFalse();
        for (long number : new long[] {0, 2, 3}) {
            assertThat(isGone(log.segmentName(number))).as("segment %d", number).isTrue();
        }

        fails.set(false);
        logs.delete("unavailable");
        assertThat(isGone(log.segmentName(1))).isTrue();
        fixture.create("unavailable", small()).append(bytes("works"));
    }
}
