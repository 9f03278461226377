package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.LtSync;
import dev.lite.api.Permission;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anOpenWaitsForACreatorThatHasJustBegun(boolean orOpen) throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLogs impatient = new LiteLogs(fixture.session(0), Duration.ofMillis(100));
            AtomicInteger opens = new AtomicInteger();
            Lite beginning = afterMakingMetadata(fixture.session(0), () -> {
                opens.incrementAndGet();
                assertThatThrownBy(() -> impatient.open("begun")).isInstanceOf(LiteTimeoutException.class);
            });
            LiteLogs logs = new LiteLogs(beginning, Waits.seconds(20));
            try (LiteLog log = orOpen
                            ? logs.createOrOpen("begun", LogFixture.small())
                            : logs.create("begun", LogFixture.small());
                    LiteLog opened = fixture.logs(0).open("begun")) {
                assertThat(log.append(LogFixture.bytes("one"))).isNotNegative();
                assertThat(LogFixture.read(opened.reader(0))).containsExactly("one");
            }
            assertThat(opens).hasValue(1);
        }
    }

    private static Lite afterMakingMetadata(Lite lite, Runnable after) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    Object made;
                    try {
                        made = method.invoke(lite.memory(), arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    if (!method.getName().equals("map")
                            && arguments[0] instanceof LmrSpec spec
                            && Metadata.name("begun").equals(spec.name())) {
                        after.run();
                    }
                    return made;
                });
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }

    @Test
    void aLogThatCouldNotBeMarkedReadyLeavesNoSegment() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            AtomicInteger unmapped = new AtomicInteger();
            AtomicReference<String> segment = new AtomicReference<>("");
            Lite failing = FaultySession.of(failingToMarkReady(fixture.session(0), segment), (executed, operation) -> {
                if (operation.equals("unmap")) {
                    unmapped.incrementAndGet();
                }
            });
            LiteLogs logs = new LiteLogs(failing, Waits.seconds(20));
            assertThatThrownBy(() -> logs.create("half", LogFixture.small())).isInstanceOf(LiteTimeoutException.class);

            assertThat(unmapped).as("the first segment is unmapped").hasPositiveValue();
            assertThat(segment.get()).startsWith("half.log/");
            LtMemory memory = fixture.session(0).memory();
            assertThatThrownBy(() -> memory.map(segment.get(), Permission.READ))
                    .isInstanceOf(LmrNotFoundException.class);
            assertThatThrownBy(() -> memory.map(Metadata.name("half"), Permission.READ))
                    .isInstanceOf(LmrNotFoundException.class);
        }
    }

    /** @param segment gets the name of the first segment */
    private static Lite failingToMarkReady(Lite lite, AtomicReference<String> segment) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    Object made;
                    try {
                        made = method.invoke(lite.memory(), arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    return method.getName().equals("malloc") && made instanceof LmrHandle handle
                            ? failingToMarkReady(handle, segment)
                            : made;
                });
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }

    private static LmrHandle failingToMarkReady(LmrHandle handle, AtomicReference<String> segment) {
        return new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() {
                return handle;
            }

            @Override
            public void putLong(long offset, long value) {
                if (offset == Long.BYTES && value == Metadata.STATE_READY) {
                    segment.set(new Metadata("half", handle).segmentName(0));
                    throw new LiteTimeoutException("no answer");
                }
                super.putLong(offset, value);
            }
        };
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
