package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Writers that die at any step, pause at any step and lose answers, while a cleaner frees what two consumers have read. Once with a timeout
 * of holes that is shorter than the pauses, and once with one that is never reached.
 */
class RandomFaultsTest {
    private static final long SEED = Long.getLong("lite.test.seed", System.nanoTime());
    private static final int WRITERS = 3;
    private static final int LIVES = 12;
    private static final int TRANSACTIONS_MAX = 400;

    private final CommitChecker checker = new CommitChecker();
    private final AtomicInteger numbers = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile long end = Long.MAX_VALUE;

    /** The process of a writer ends here. No code of the log catches it. */
    private static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** What happens to one writer. */
    private static final class Fate implements FaultySession.Faults {
        private final Random random;
        private boolean dead;

        Fate(Random random) {
            this.random = random;
        }

        @Override
        public void at(boolean executed, String operation) {
            boolean pause;
            synchronized (random) {
                dead |= random.nextInt(700) == 0;
                if (dead) {
                    throw new Killed();
                }
                if (!operation.equals("getLong") && random.nextInt(100) == 0) {
                    throw new LiteTimeoutException("no answer to " + operation);
                }
                pause = random.nextInt(150) == 0;
            }
            if (pause) {
                Waits.pass(Duration.ofMillis(6));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {2, 3_600_000})
    void whateverHappensToWritersEveryAcknowledgedTransactionIsReadOnceAndInOrder(long holeTimeoutMs)
            throws IOException {
        System.out.println("seed " + SEED);
        LogSpec spec = LogFixture.small().withRetentionBytes(0).withHoleTimeout(Duration.ofMillis(holeTimeoutMs));
        try (LogFixture fixture = new LogFixture(2)) {
            LiteLog log = fixture.create("chaos", spec);
            log.startCleaner();
            List<Thread> readers = new ArrayList<>();
            for (int reader = 0; reader < 2; reader++) {
                LogReader own = fixture.logs(reader).open("chaos").consumer("reader " + reader, 0);
                CommitChecker.Copy copy = checker.copy();
                readers.add(start(() -> read(own, copy)));
            }
            List<Thread> writers = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                Random random = new Random(SEED + writer);
                writers.add(start(() -> live(fixture, random)));
            }
            awaitEnd(writers);
            int last = numbers.getAndIncrement();
            long position = log.append(CommitChecker.transaction(last, 0));
            checker.acknowledge(last, 0, position);
            end = position;
            awaitEnd(readers);
            assertThat(failure.get()).isNull();
            checker.check();
            assertThat(checker.acknowledgedCount()).isGreaterThan(WRITERS * LIVES);
            assertThat(LogPosition.segment(log.firstPosition()))
                    .as("the cleaner worked")
                    .isPositive();
        }
    }

    private static void awaitEnd(List<Thread> threads) {
        for (Thread thread : threads) {
            Waits.until("the end of " + thread.getName(), Waits.seconds(90), () -> !thread.isAlive());
        }
    }

    private Thread start(Runnable body) {
        return Thread.ofPlatform().start(() -> {
            try {
                body.run();
            } catch (RuntimeException | AssertionError e) {
                failure.compareAndSet(null, e);
            }
        });
    }

    private void read(LogReader reader, CommitChecker.Copy copy) {
        while (reader.position() <= end && failure.get() == null) {
            reader.await(copy::add, 50, Duration.ofMillis(20));
            reader.commit();
        }
    }

    /** Some writers one after the other. */
    private void live(LogFixture fixture, Random random) {
        for (int life = 0; life < LIVES; life++) {
            int number = numbers.getAndIncrement();
            Lite session;
            synchronized (fixture) {
                session = fixture.session(number % 2);
            }
            LiteLog log = new LiteLogs(FaultySession.of(session, new Fate(random)), Waits.seconds(60)).open("chaos");
            try {
                append(log, number, random);
            } catch (Killed | AppendUncertainException e) {
                // Nothing is closed but the session, as its node does at the end of a process.
            } catch (CompletionException e) {
                if (!(e.getCause() instanceof Killed || e.getCause() instanceof AppendUncertainException)) {
                    throw e;
                }
            }
            session.close();
        }
    }

    private void append(LiteLog log, int writer, Random random) {
        for (int sequence = 0; sequence < TRANSACTIONS_MAX; ) {
            int batch;
            synchronized (random) {
                batch = random.nextInt(20) == 0 ? 10 : 0;
            }
            try {
                List<CompletableFuture<Long>> futures = new ArrayList<>();
                for (int count = 0; count < batch; count++) {
                    futures.add(log.appendAsync(CommitChecker.transaction(writer, sequence + count)));
                }
                for (CompletableFuture<Long> future : futures) {
                    checker.acknowledge(writer, sequence++, future.join());
                }
                checker.acknowledge(writer, sequence, log.append(CommitChecker.transaction(writer, sequence)));
                sequence++;
            } catch (AppendUncertainException e) {
                throw e;
            } catch (LiteException | LogException e) {
                throw new AssertionError("writer " + writer + " failed at " + sequence, e);
            }
        }
    }
}
