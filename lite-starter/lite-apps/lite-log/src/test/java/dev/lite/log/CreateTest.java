package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Processes that create the same log at the same time. */
class CreateTest {

    @Test
    void aCreatorThatGivesUpLeavesTheLogToTheProcessThatCompletedIt() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLogs other = fixture.logs(0);
            AtomicBoolean once = new AtomicBoolean();
            LiteLogs slow = new LiteLogs(
                    beforeItsFirstLock(fixture.session(0), () -> {
                        if (!once.getAndSet(true)) {
                            LiteLog completed = other.createOrOpen("both", LogFixture.small());
                            assertThat(completed.append(LogFixture.bytes("acknowledged")))
                                    .isNotNegative();
                            throw new LiteTimeoutException("the node did not answer");
                        }
                    }),
                    Waits.seconds(20));
            assertThatThrownBy(() -> slow.create("both", LogFixture.small())).isInstanceOf(LiteTimeoutException.class);
            assertThat(LogFixture.read(other.open("both").reader(0))).containsExactly("acknowledged");
        }
    }

    @Test
    void aDeadlineMayBeForever() throws IOException {
        try (LogFixture fixture = new LogFixture(1);
                LiteLogs logs = new LiteLogs(fixture.session(0), ChronoUnit.FOREVER.getDuration());
                LiteLog log = logs.create("forever", LogFixture.small())) {
            assertThat(log.append(LogFixture.bytes("one"))).isNotNegative();
            assertThat(log.appendAsync(LogFixture.bytes("two"))).succeedsWithin(Waits.seconds(20));
            assertThat(LogFixture.read(log.reader(0))).containsExactly("one", "two");
        }
    }

    private static Lite beforeItsFirstLock(Lite lite, Runnable before) {
        LtSync sync = (LtSync) Proxy.newProxyInstance(
                LtSync.class.getClassLoader(), new Class<?>[] {LtSync.class}, (self, method, arguments) -> {
                    LtLock lock = (LtLock) method.invoke(lite.sync(), arguments);
                    return Proxy.newProxyInstance(
                            LtLock.class.getClassLoader(), new Class<?>[] {LtLock.class}, (inner, called, given) -> {
                                before.run();
                                return called.invoke(lock, given);
                            });
                });
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) -> method.getName().equals("sync") ? sync : method.invoke(lite, arguments));
    }
}
