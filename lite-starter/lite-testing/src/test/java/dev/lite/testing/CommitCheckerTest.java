package dev.lite.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

class CommitCheckerTest {
    private final CommitChecker checker = new CommitChecker();
    private final CommitChecker.Copy copy = checker.copy();

    private static void give(CommitChecker.Copy copy, long position, int writer, int sequence) {
        List<MemorySegment> entries = CommitChecker.transaction(writer, sequence);
        for (MemorySegment entry : entries) {
            copy.add(position, entry, 0, (int) entry.byteSize(), entry.equals(entries.getLast()));
        }
    }

    private void assertFound(String message) {
        assertThatThrownBy(checker::check).isInstanceOf(AssertionError.class).hasMessageContaining(message);
    }

    @Test
    void aCorrectLogIsAccepted() {
        checker.acknowledge(1, 0, 10);
        checker.acknowledge(2, 7, 12);
        give(copy, 10, 1, 0);
        give(copy, 11, 1, 1); // neither acknowledged nor refused: its writer died
        give(copy, 12, 2, 7);
        checker.refuse(1, 2);
        checker.check();
        assertThat(copy.count()).isEqualTo(3);
    }

    @Test
    void aLostCommitIsFound() {
        checker.acknowledge(1, 0, 10);
        assertFound("was acknowledged at 10, and is at null");
    }

    @Test
    void aCommitThatIsThereTwiceIsFound() {
        give(copy, 10, 1, 0);
        give(copy, 11, 1, 0);
        assertFound("twice");
    }

    @Test
    void aChangedOrderIsFound() {
        give(copy, 10, 1, 1);
        give(copy, 11, 1, 0);
        assertFound("comes after number 1");
    }

    @Test
    void aRefusedTransactionInTheLogIsFound() {
        checker.refuse(1, 0);
        give(copy, 10, 1, 0);
        assertFound("was refused");
    }

    @Test
    void readersThatDisagreeAreFound() {
        CommitChecker.Copy other = checker.copy();
        give(copy, 10, 1, 0);
        give(other, 10, 2, 0);
        assertFound("for another");
        give(copy, 11, 1, 1);
        assertFound("one reader saw 2, another 1");
    }

    @Test
    void halfATransactionIsFound() {
        MemorySegment first = CommitChecker.transaction(1, 1).getFirst(); // of three
        copy.add(10, first, 0, (int) first.byteSize(), false);
        assertThatThrownBy(() -> give(copy, 11, 1, 2)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> checker.copy().add(10, first, 0, (int) first.byteSize(), true))
                .hasMessageContaining("wrong mark");
    }

    @Test
    void aChangedByteIsFound() {
        MemorySegment entry = CommitChecker.transaction(0, 5).getFirst();
        entry.set(java.lang.foreign.ValueLayout.JAVA_BYTE, 18, (byte) 99);
        assertThatThrownBy(() -> copy.add(10, entry, 0, (int) entry.byteSize(), true))
                .hasMessageContaining("byte 18");
    }
}
