package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;

/** A log whose next segment cannot be created, because a node or the directory does not answer. */
class SlowSegmentsTest {
    private static final int THREADS = 40;
    private static final Duration NO_ANSWER = Duration.ofMillis(300);

    /** Each waits for itself, and not for the attempts of all others. */
    @Test
    void manyAppendsFailAtTheirDeadlineAndNotOneAfterTheOther() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog log = new LiteLogs(withoutFurtherSegments(fixture.session(0)), Duration.ofMillis(500))
                    .create("slow", LogFixture.small());
            byte[] entry = new byte[1000];
            fill(log, entry);
            AtomicInteger failed = new AtomicInteger();
            long startNs = System.nanoTime();
            List<Thread> threads = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        assertThat(log.append(entry)).isNotNegative();
                    } catch (LiteTimeoutException e) {
                        failed.incrementAndGet();
                    }
                }));
            }
            threads.forEach(Waits::join);
            assertThat(failed).hasValue(THREADS);
            assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(NO_ANSWER.multipliedBy(THREADS / 2));
        }
    }

    /** Each attempt asks for the name of the node, to find out whether the session is a new one. */
    @Test
    void anAppendThatHasWaitedForTheNextSegmentUntilItsDeadlineDoesNotTryAgain() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            CountDownLatch making = new CountDownLatch(1);
            CountDownLatch failed = new CountDownLatch(1);
            AtomicInteger attempts = new AtomicInteger();
            Lite lite = countingAttempts(
                    makingSegment1(fixture.session(0), () -> {
                        making.countDown();
                        Waits.until("the other append has failed", () -> failed.getCount() == 0);
                    }),
                    "waits",
                    attempts);
            LiteLog log = new LiteLogs(lite, Duration.ofMillis(300)).create("waiting", LogFixture.small());
            byte[] entry = new byte[1000];
            Thread maker = Thread.ofPlatform().start(() -> {
                while (LogPosition.segment(log.append(entry)) == 0) {}
            });
            Waits.until("the next segment is being made", () -> making.getCount() == 0);
            Thread waiting = Thread.ofPlatform().name("waits").start(() -> {
                assertThatThrownBy(() -> log.append(entry)).isInstanceOf(LiteTimeoutException.class);
                failed.countDown();
            });
            Waits.join(waiting);
            Waits.join(maker);
            assertThat(attempts).hasValue(1);
        }
    }

    /** Not the one that makes it in advance: nobody waits for that. */
    private static Lite makingSegment1(Lite lite, Runnable action) {
        return without(lite, (method, spec) -> {
            if (!method.equals("createOrMap") || !String.valueOf(spec.name()).endsWith("/1")) {
                return false;
            }
            boolean isInAdvance = Thread.currentThread().getName().equals("lite-log-segment");
            if (!isInAdvance) {
                action.run();
            }
            return isInAdvance;
        });
    }

    private static Lite countingAttempts(Lite lite, String thread, AtomicInteger attempts) {
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(), new Class<?>[] {Lite.class}, (self, method, arguments) -> {
                    if (method.getName().equals("nodeName")
                            && Thread.currentThread().getName().equals(thread)) {
                        attempts.incrementAndGet();
                    }
                    return method.invoke(lite, arguments);
                });
    }

    /** Its mark only saves readers time. */
    @Test
    void aWriterThatCannotRegisterHoldsUpOneAppendAndNotAllOneAfterTheOther() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            assertThat(fixture.create("unmarked", LogFixture.small()).isClosed())
                    .isFalse();
            LiteLog log = new LiteLogs(withoutMarks(fixture.session(0)), Waits.seconds(20)).open("unmarked");
            long startNs = System.nanoTime();
            List<Thread> threads = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                threads.add(Thread.ofPlatform()
                        .start(() -> assertThat(log.append(new byte[10])).isNotNegative()));
            }
            threads.forEach(Waits::join);
            assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(NO_ANSWER.multipliedBy(THREADS / 2));
            assertThat(LogFixture.read(log.reader(0))).hasSize(THREADS);
        }
    }

    /** Else it would wait for the node once more. */
    @Test
    void anAppendWhoseWriterCannotRegisterUntilTheDeadlineFails() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            assertThat(fixture.create("late", LogFixture.small()).isClosed()).isFalse();
            LiteLog log = new LiteLogs(withoutMarks(fixture.session(0)), NO_ANSWER.dividedBy(2)).open("late");
            assertThatThrownBy(() -> log.append(new byte[10]))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessage("an append to log \"late\" could not begin within PT0.15S: no answer");
            assertThat(LogFixture.read(log.reader(0))).isEmpty();
        }
    }

    @Test
    void aSegmentThatIsMadeInAdvanceWhileTheLogIsClosedDoesNotStayMapped() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            CountDownLatch made = new CountDownLatch(1);
            CountDownLatch closed = new CountDownLatch(1);
            AtomicInteger unmapped = new AtomicInteger();
            AtomicInteger looks = new AtomicInteger();
            Lite waiting = lookingAtTheMetadata(fixture.session(0), () -> {
                boolean isMaker = Thread.currentThread().getName().equals("lite-log-segment");
                if (isMaker && looks.incrementAndGet() == 6) { // its last look before it keeps the segment
                    made.countDown();
                    Waits.until("the log is closed", () -> closed.getCount() == 0);
                }
            });
            Lite lite = FaultySession.of(waiting, (executed, operation) -> {
                if (operation.equals("unmap")) {
                    unmapped.incrementAndGet();
                }
            });
            LiteLog log = new LiteLogs(lite).create("closed", LogFixture.small());
            for (int i = 0; i < 50; i++) { // more than half of the first segment
                assertThat(LogPosition.segment(log.append(new byte[100]))).isZero();
            }
            Waits.until("the second segment is made", () -> made.getCount() == 0);
            log.close();
            assertThat(unmapped).as("the first segment").hasValue(1);
            closed.countDown();
            Waits.until("the second segment is unmapped", () -> unmapped.get() == 2);
        }
    }

    /** A session that does something after each look at a log's metadata. */
    private static Lite lookingAtTheMetadata(Lite lite, Runnable action) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    Object made = method.invoke(lite.memory(), arguments);
                    return made instanceof LmrHandle handle
                                    && handle.name().orElse("").endsWith(".log")
                            ? looking(handle, action)
                            : made;
                });
        return withMemory(lite, memory);
    }

    private static LmrHandle looking(LmrHandle handle, Runnable action) {
        return new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() {
                return handle;
            }

            @Override
            public long getLong(long offset) {
                long value = super.getLong(offset);
                action.run();
                return value;
            }
        };
    }

    private static Lite withMemory(Lite lite, LtMemory memory) {
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }

    private static void fill(LiteLog log, byte[] entry) {
        try {
            while (true) {
                assertThat(LogPosition.segment(log.append(entry))).isZero();
            }
        } catch (LiteTimeoutException e) {
            assertThat(e).hasMessage("no answer");
        }
    }

    private static Lite withoutMarks(Lite lite) {
        return without(lite, (method, spec) -> method.equals("malloc"));
    }

    private static Lite withoutFurtherSegments(Lite lite) {
        return without(
                lite,
                (method, spec) -> method.equals("createOrMap")
                        && String.valueOf(spec.name()).endsWith("/1"));
    }

    private static Lite without(Lite lite, BiPredicate<String, LmrSpec> unanswered) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    if (arguments[0] instanceof LmrSpec spec && unanswered.test(method.getName(), spec)) {
                        Waits.pass(NO_ANSWER);
                        throw new LiteTimeoutException("no answer");
                    }
                    try {
                        return method.invoke(lite.memory(), arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return withMemory(lite, memory);
    }
}
