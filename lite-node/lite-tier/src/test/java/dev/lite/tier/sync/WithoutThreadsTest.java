package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LtLock;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Work of a home for which there is no memory for a thread once. It must be done later. */
class WithoutThreadsTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private SyncService sync;
    private SyncCalls calls;
    private boolean withoutThreads;
    /** Does its work at once. */
    private final Executor executor = task -> {
        if (withoutThreads) {
            withoutThreads = false;
            throw new OutOfMemoryError("on purpose");
        }
        task.run();
    };

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(1);
        sync = Inside.field(cluster.node(0), "sync", SyncService.class);
        calls = Inside.field(sync, "calls", SyncCalls.class);
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private WordStore words() {
        return Inside.field(sync, "words", WordStore.class);
    }

    private ClusterView view() {
        return Inside.field(Inside.field(sync, "homes", HomeWords.class), "cluster", ClusterView.class);
    }

    /** Homes with that executor, beside those of the node. */
    private HomeWords homes() {
        WordMoves moves = Inside.field(sync, "moves", WordMoves.class);
        return new HomeWords(words(), moves, calls, view(), executor, new SyncCounters());
    }

    /** Ticks until a tick finds no memory for a thread. */
    private void tickWithoutThreads(Runnable tick) {
        withoutThreads = true;
        Waits.until("a tick needs a thread", () -> {
            try {
                tick.run();
            } catch (OutOfMemoryError e) {
                assertThat(e).hasMessage("on purpose");
            }
            return !withoutThreads;
        });
    }

    /** Else a lock whose holder's node died is held for ever. */
    @Test
    void aTicketThatNobodyClaimsIsPassedOver() {
        try (Lite lite = cluster.attach(0)) {
            LtLock lock = lite.sync().lock("x");
            SyncWord word = ((SessionLock) lock).lock().word();
            HomeWords homes = homes();
            long unused = word.fetchAdd(LockWord.DRAW, Deadline.in(LONG));
            homes.atLock(word.ref(), home -> {
                home.tried();
                return home;
            });
            tickWithoutThreads(homes::tick);

            Waits.until("its turn is over", () -> {
                homes.tick();
                return LockWord.count(word.read()) == 0;
            });
        }
    }

    /** Else its other parties wait for their whole deadline. */
    @Test
    void aBarrierOfWhichAPartyIsGoneBreaks() {
        try (Lite lite = cluster.attach(0)) {
            SyncWord word = Inside.field(lite.sync().barrier("b", 2), "barrier", BarrierUser.class)
                    .barrier()
                    .word();
            HomeWords homes = homes();
            SyncCalls.BarrierStatus arrived = homes.atBarrier(word.ref(), home -> home.arrive(0, 0, 2, 77));
            assertThat(arrived.stage()).isEqualTo(SyncCalls.Stage.WAITS);
            tickWithoutThreads(homes::tick);

            Waits.until("the round is over", () -> {
                homes.tick();
                return word.read() == 1;
            });
        }
    }

    private WordStore.Named unusedWord() {
        try (Lite lite = cluster.attach(0)) {
            LtLock lock = lite.sync().lock("x");
            return new WordStore.Named(
                    WordStore.Kind.LOCK, "x", ((SessionLock) lock).lock().word().ref());
        }
    }

    /** Else unused words fill the directory and the arena. */
    @Test
    void aWordThatNobodyUsesIsRemoved() {
        WordStore.Named word = unusedWord();
        Retirement retirement = new Retirement(words(), homes(), calls, view(), executor, ref -> {});
        retirement.setIdle(Duration.ZERO);
        retirement.left(word);
        tickWithoutThreads(retirement::tick);

        Waits.until("its record is gone", () -> {
            retirement.tick();
            return cluster.directory(0)
                    .read(ClusterDirectory.INTERNAL_PREFIX + "lock/x", LONG)
                    .isEmpty();
        });
    }

    /** Else a node that has no room for a new word waits for its deadline, as if it still made room. */
    @Test
    void laterReportsOfUnusedWordsAreSent() {
        WordStore.Named word = unusedWord();
        LeftWords reports = new LeftWords(calls, executor);
        withoutThreads = true;
        assertThatThrownBy(() -> reports.report(word)).isInstanceOf(OutOfMemoryError.class);
        assertThat(reports.isSending()).isFalse();

        reports.report(word);

        assertThat(reports.isSending()).isFalse();
        assertThat(withoutThreads).isFalse();
    }
}
