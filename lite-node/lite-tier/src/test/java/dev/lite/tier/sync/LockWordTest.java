package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.tier.testing.Seeds;
import java.util.ArrayDeque;
import org.junit.jupiter.api.Test;

/** The lock word, compared with a queue of tickets. */
class LockWordTest {
    @Test
    void drawsAndPassesInAnyOrderAgreeWithAQueueOfTickets() {
        Seeds.forEach(40, random -> {
            ArrayDeque<Long> queue = new ArrayDeque<>();
            long next = random.nextLong(1L << 41);
            long word = LockWord.heldAlone(next - 1) + LockWord.PASS; // free, after this many tickets
            for (int step = 0; step < 2_000; step++) {
                if (queue.isEmpty() || random.nextInt(100) < 55) {
                    assertThat(LockWord.next(word)).isEqualTo(next);
                    word += LockWord.DRAW;
                    queue.add(next++);
                } else {
                    assertThat(LockWord.turn(word)).isEqualTo(queue.remove());
                    word += LockWord.PASS;
                }
                assertThat(LockWord.count(word)).isEqualTo(queue.size());
                assertThat(LockWord.turn(word)).isEqualTo(queue.isEmpty() ? next : queue.peek());
            }
        });
    }

    @Test
    void theWordOfASoleHolderIsTheOneLeftByItsDraw() {
        Seeds.forEach(1_000, random -> {
            long ticket = random.nextLong(1L << 41);
            long free = LockWord.heldAlone(ticket - 1) + LockWord.PASS;
            assertThat(LockWord.count(free)).isZero();
            assertThat(free + LockWord.DRAW).isEqualTo(LockWord.heldAlone(ticket));
            assertThat(LockWord.turn(LockWord.heldAlone(ticket))).isEqualTo(ticket);
        });
    }

    /** A delayed pass can never find its expected word again, because the turn in the word only grows. */
    @Test
    void noTwoTicketsHaveTheSameWordOfASoleHolder() {
        assertThat(LockWord.heldAlone(0)).isNotEqualTo(LockWord.heldAlone(1));
        Seeds.forEach(1_000, random -> {
            long ticket = random.nextLong(1L << 41);
            long later = ticket + 1 + random.nextInt(1 << 20);
            assertThat(LockWord.heldAlone(later)).isGreaterThan(LockWord.heldAlone(ticket));
        });
    }

    @Test
    void aDeadWordIsNeverFreeAndRemembersItsNextTicketWhateverIsDrawn() {
        Seeds.forEach(1_000, random -> {
            long next = random.nextLong(1L << 41);
            assertThat(LockWord.isDead(LockWord.free(next))).isFalse();
            long dead = LockWord.dead(LockWord.free(next));
            for (int draws = 0; draws < 1_000; draws++) {
                assertThat(LockWord.isDead(dead)).isTrue();
                assertThat(LockWord.count(dead)).isPositive();
                assertThat(LockWord.next(dead)).isEqualTo(next + draws);
                dead += LockWord.DRAW;
            }
        });
    }

    @Test
    void theMarkOfTheQueueChangesNeitherTicketsNorTurnsAndEndsWithTheLastPass() {
        Seeds.forEach(1_000, random -> {
            long ticket = random.nextLong(1L << 41);
            long word = LockWord.heldAlone(ticket) + LockWord.DRAW + LockWord.DRAW;
            long marked = LockWord.queued(word);
            assertThat(LockWord.isQueued(word)).isFalse();
            assertThat(LockWord.isQueued(marked)).isTrue();
            assertThat(LockWord.isDead(marked)).isFalse();
            assertThat(LockWord.notQueued(marked)).isEqualTo(word);
            assertThat(LockWord.next(marked)).isEqualTo(ticket + 3);
            assertThat(LockWord.turn(LockWord.passed(marked))).isEqualTo(ticket + 1);
            long last = LockWord.passed(LockWord.passed(marked));
            assertThat(LockWord.isQueued(last)).isTrue();
            assertThat(LockWord.passed(last)).isEqualTo(LockWord.free(ticket + 3));
        });
    }

    @Test
    void aBornWordIsNeverTheValueOfAnUnbornOne() {
        assertThat(LockWord.free(1)).isNotEqualTo(LockWord.UNBORN);
        assertThat(LockWord.count(LockWord.free(1))).isZero();
        assertThat(LockWord.next(LockWord.free(1))).isEqualTo(1);
        assertThat(LockWord.isDead(LockWord.dead(LockWord.UNBORN))).isTrue();
    }

    @Test
    void theMaximumNumberOfTicketsDoesNotOverflowTheTicketBits() {
        long word = LockWord.heldAlone(77);
        long all = 1024L * (NodeLock.TICKETS_MAX + 1);
        for (long drawn = 1; drawn < all; drawn++) {
            word += LockWord.DRAW;
        }
        assertThat(LockWord.count(word)).isEqualTo((int) all);
        assertThat(LockWord.turn(word)).isEqualTo(77);
    }
}
