package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.client.reattach.ReattachingLite;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A consumer whose node restarts, in a session that attaches again. */
class LostConsumerTest {

    @Test
    void aConsumerWhoseSessionWasLostSaysSoWhenItReadsAndCanBeOpenedAgain() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            AtomicReference<Lite> attached = new AtomicReference<>();
            Lite lite = ReattachingLite.attach(
                    Lite.AttachOptions.to(Path.of("unused"), "log-test").withDeadline(Waits.seconds(5)), options -> {
                        Lite session = fixture.session(0);
                        attached.set(session);
                        return session;
                    });
            LiteLog log = new LiteLogs(lite, Waits.seconds(5)).create("lost", LogFixture.small());
            assertThat(log.append(LogFixture.bytes("one"))).isNotNegative();
            LogReader reader = log.consumer("billing", log.firstPosition());
            assertThat(LogFixture.read(reader)).containsExactly("one");
            reader.commit();
            attached.get().close();
            assertThatThrownBy(() -> reader.next(Duration.ofMillis(100))).isInstanceOf(ConsumerLostException.class);
            reader.close();
            assertThat(log.append(LogFixture.bytes("two"))).isNotNegative();
            try (LogReader again = log.consumer("billing", 0)) {
                assertThat(LogFixture.read(again)).containsExactly("two");
            }
            log.close();
            lite.close();
        }
    }
}
