package dev.lite.session.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.FutexWords;
import dev.lite.testing.Waits;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The polling thread fails whenever it polls, as when the process has no memory for a thread. */
@Isolated("it replaces the process' handler of uncaught exceptions")
class LastingFailureTest {
    private static final int WAITS = 5;

    private static final class Failing implements PolledWaits.Wait {
        private int polls;

        @Override
        public PolledWaits.Polled poll() {
            polls++;
            throw new OutOfMemoryError("on purpose");
        }

        @Override
        public boolean isReady() {
            return true; // else the platform thread would sleep, if it looks first
        }

        @Override
        public boolean announce(FutexWords words) {
            return true;
        }
    }

    private static void withHandler(Thread.UncaughtExceptionHandler handler, Runnable body) {
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler(handler);
        try {
            body.run();
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(before);
        }
    }

    private static void eachWaitEnds() {
        PolledWaits waits = new PolledWaits("polls", 0);
        try {
            Failing failing = new Failing();
            Waits.join(Thread.ofVirtual().start(() -> {
                for (int i = 0; i < WAITS; i++) {
                    waits.await(failing, System.nanoTime() + Waits.seconds(60).toNanos());
                }
            }));
            assertThat(failing.polls).isGreaterThanOrEqualTo(WAITS);
        } finally {
            waits.close();
        }
    }

    @Test
    void itIsReportedOnceAndEndsEachWait() {
        AtomicInteger reports = new AtomicInteger();
        withHandler((thread, failure) -> reports.incrementAndGet(), LastingFailureTest::eachWaitEnds);
        assertThat(reports).hasValue(1);
    }

    @Test
    void itEndsEachWaitAlsoIfItCannotBeReported() {
        withHandler(
                (thread, failure) -> {
                    throw new OutOfMemoryError("no memory for a report, on purpose");
                },
                LastingFailureTest::eachWaitEnds);
    }

    /** The JVM throws the same object again when it has no memory for another one. */
    @Test
    void itEndsEachWaitAlsoIfItsReportFailsWithTheSameError() {
        withHandler(
                (thread, failure) -> {
                    throw (Error) failure;
                },
                LastingFailureTest::eachWaitEnds);
    }

    /** Looks at slots that always fail. */
    private static final class FailingWords implements VirtualWaits.Words {
        private final AtomicInteger looks = new AtomicInteger();

        @Override
        public boolean isOver(int slot) {
            looks.incrementAndGet();
            throw new StackOverflowError("on purpose");
        }

        @Override
        public boolean announce(int slot, FutexWords words) {
            return false;
        }
    }

    @Test
    void aFailureOfThePlatformThreadEndsEachWaitToo() {
        AtomicInteger reports = new AtomicInteger();
        FailingWords words = new FailingWords();
        VirtualWaits waits = new VirtualWaits(words, 0);
        withHandler((thread, failure) -> reports.incrementAndGet(), () -> {
            try {
                Waits.join(Thread.ofVirtual().start(() -> {
                    for (int i = 0; i < WAITS; i++) {
                        waits.await(i, System.nanoTime() + Waits.seconds(60).toNanos());
                    }
                }));
            } finally {
                waits.lose();
            }
        });
        assertThat(words.looks).hasValueGreaterThanOrEqualTo(WAITS);
        assertThat(reports).hasValue(1);
    }
}
