package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.memory.BlankMappings;
import dev.lite.tier.memory.Mapping;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The passes of a lock's mapped word, and the sleep of those who wait for them. */
class SyncWordTest {
    private static final long TICKET = 70;
    private static final int ATOMIC = Permission.ATOMIC.bit();

    private final Arena arena = Arena.ofShared();
    private final long address = arena.allocate(64, 64).address();
    private final Mapping mapping = Mapping.open(
            new BlankMappings(),
            new LmrRecord(
                    7,
                    LmrRecord.State.LIVE,
                    SyncWord.BYTES,
                    62,
                    0,
                    Map.of(),
                    List.of(new Share(0, new UUID(1, 2), List.of(new Run(0, 64, 0))))),
            "x",
            ATOMIC,
            new long[] {address},
            new Owner());
    private final SyncWord word = new SyncWord(mapping);
    private final Deadline deadline = Deadline.in(Waits.seconds(20));

    @AfterEach
    void close() {
        arena.close();
    }

    private static final class Owner extends WordOwner {
        @Override
        public RemoteMemory remoteMemory() {
            throw new AssertionError("the word is mapped");
        }

        @Override
        public void refresh(@Nullable String name, long lmrId, Deadline until) {
            throw new AssertionError("the word does not move");
        }
    }

    /** The ticket holds the lock, and so many wait. */
    private long held(int waiters) {
        long now = LockWord.heldAlone(TICKET) + waiters * LockWord.DRAW;
        RawMemory.putLongVolatile(address, now);
        return now;
    }

    /** A thread that sleeps until the ticket's turn. */
    private Thread sleeper(long ticket) {
        return Thread.ofPlatform().daemon().start(() -> {
            for (long now = word.read(); LockWord.turn(now) < ticket; now = word.read()) {
                word.sleep(now, ticket, Waits.seconds(200).toNanos());
            }
        });
    }

    private static int bit(long ticket) {
        return 1 << (int) (ticket % Integer.SIZE);
    }

    @Test
    void aPassIsMadeOnceHoweverOftenItIsRepeated() {
        held(2);
        assertThat(LockWord.turn(word.pass(TICKET, deadline))).isEqualTo(TICKET + 1);
        assertThat(word.pass(TICKET, deadline)).isEqualTo(SyncWord.NOT_PASSED);
        assertThat(word.pass(TICKET + 2, deadline)).isEqualTo(SyncWord.NOT_PASSED);
        assertThat(LockWord.turn(word.read())).isEqualTo(TICKET + 1);
    }

    @Test
    void aLatePassNeverChangesADeadWord() {
        long dead = LockWord.dead(LockWord.free(TICKET + 1)); // its turn is the ticket's
        RawMemory.putLongVolatile(address, dead);
        assertThat(word.pass(TICKET, deadline)).isEqualTo(SyncWord.NOT_PASSED);
        assertThat(word.read()).isEqualTo(dead);
    }

    @Test
    void aPassWakesTheNextTicketAndEachTicketHasItsOwnBell() {
        held(3);
        Thread next = sleeper(TICKET + 1);
        Thread later = sleeper(TICKET + 2);
        Thread last = sleeper(TICKET + 3);
        // Each wake-up is for nothing as long as the turn is another one's, so the thread sleeps again.
        Waits.until("all sleep", () -> Futex.wakeBits(address, -1) == 3);
        for (int waiting = 1; waiting <= 3; waiting++) {
            int its = bit(TICKET + waiting);
            Waits.until("one has this bell", () -> Futex.wakeBits(address, its) == 1);
        }
        assertThat(word.pass(TICKET, deadline)).isNotEqualTo(SyncWord.NOT_PASSED);
        Waits.until("the next one has its turn", () -> !next.isAlive());
        assertThat(later.isAlive() && last.isAlive()).isTrue();
        assertThat(word.pass(TICKET + 1, deadline)).isNotEqualTo(SyncWord.NOT_PASSED);
        assertThat(word.pass(TICKET + 2, deadline)).isNotEqualTo(SyncWord.NOT_PASSED);
        Waits.until("all had their turns", () -> !later.isAlive() && !last.isAlive());
    }

    @Test
    void nobodySleepsOnAWordThatHasChanged() {
        long seen = held(1);
        assertThat(word.pass(TICKET, deadline)).isNotEqualTo(SyncWord.NOT_PASSED);
        word.sleep(seen, TICKET + 1, Waits.seconds(200).toNanos());
        assertThat(LockWord.turn(word.read())).isEqualTo(TICKET + 1);
    }
}
