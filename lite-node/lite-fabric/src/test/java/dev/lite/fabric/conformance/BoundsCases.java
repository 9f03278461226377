package dev.lite.fabric.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.lite.fabric.conformance.TestFabrics.Pair;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Posts with invalid ranges and lengths. */
interface BoundsCases extends ConformanceCases {
    /** Larger than the depth of every queue, so that a refused post that leaks an entry shows. */
    int REFUSED_POSTS = 20_000;

    /** A range outside of the peer's memory. */
    record Range(long offset, long length) {}

    private static List<Range> rangesOutside(long size) {
        return List.of(
                new Range(-1, 1),
                new Range(-1, 0),
                new Range(0, -1),
                new Range(8, -8),
                new Range(size, 1),
                new Range(size - 1, 2),
                new Range(size + 1, 0),
                new Range(0, size + 1),
                new Range(1, size),
                new Range(Long.MAX_VALUE, 0),
                new Range(Long.MAX_VALUE, 1),
                new Range(1, Long.MAX_VALUE),
                new Range(Long.MAX_VALUE, Long.MAX_VALUE),
                new Range(Long.MIN_VALUE, 1),
                new Range(0, Long.MIN_VALUE),
                new Range(Long.MIN_VALUE, Long.MIN_VALUE),
                new Range(1L << 32, 8),
                new Range(0, 1L << 32));
    }

    @Test
    default void rangesOutsideOfThePeersMemoryAreRefused() {
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(64);
        long address = local.address();
        for (Range range : rangesOutside(pair.out().remoteSize())) {
            refusesRange(pair, range, (to, context) -> to.read(range.offset(), address, range.length(), context));
            refusesRange(pair, range, (to, context) -> to.write(range.offset(), address, range.length(), context));
            refusesRange(
                    pair, range, (to, context) -> to.writeImm(range.offset(), address, range.length(), 1, context));
        }
        checkNothingHappened(pair);
    }

    @Test
    default void wordsOutsideOfThePeersMemoryAreRefused() {
        Pair pair = fabrics().pair();
        long address = pair.from().local(8).address();
        long size = pair.out().remoteSize();
        for (long offset : new long[] {-8, size, size + 8, Long.MAX_VALUE - 7, Long.MIN_VALUE, 1L << 32}) {
            Range word = new Range(offset, Long.BYTES);
            refusesRange(pair, word, (to, context) -> to.fetchAdd(offset, 1, address, context));
            refusesRange(pair, word, (to, context) -> to.compareAndSwap(offset, 0, 1, address, context));
        }
        checkNothingHappened(pair);
    }

    @Test
    default void wordsThatAreNotAlignedAreRefused() {
        Pair pair = fabrics().pair();
        long address = pair.from().local(8).address();
        for (long offset : new long[] {1, 4, 7, 4097, pair.out().remoteSize() - 9}) {
            assertThatIllegalArgumentException()
                    .as("offset %d", offset)
                    .isThrownBy(() -> post(pair, (to, context) -> to.fetchAdd(offset, 1, address, context)));
            assertThatIllegalArgumentException()
                    .as("offset %d", offset)
                    .isThrownBy(() -> post(pair, (to, context) -> to.compareAndSwap(offset, 0, 1, address, context)));
        }
        // A misaligned word across the end violates both rules; either error is correct.
        long last = pair.out().remoteSize() - 1;
        assertThat(catchThrowable(() -> post(pair, (to, context) -> to.fetchAdd(last, 1, address, context))))
                .isInstanceOfAny(IndexOutOfBoundsException.class, IllegalArgumentException.class);
        checkNothingHappened(pair);
    }

    @Test
    default void operationsLongerThanTheLimitAreRefused() {
        Pair pair = fabrics().pair();
        long longest = pair.from().fabric.capabilities().operationBytesMax();
        assumeThat(longest).as("longest operation").isLessThan(pair.out().remoteSize());
        long address = pair.from().memory.segment().address();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> post(pair, (to, context) -> to.read(0, address, longest + 1, context)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> post(pair, (to, context) -> to.write(0, address, longest + 1, context)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> post(pair, (to, context) -> to.writeImm(0, address, longest + 1, 1, context)));
        checkNothingHappened(pair);
    }

    @Test
    default void theErrorReportsTheOffsetTheLengthAndTheSize() {
        Pair pair = fabrics().pair();
        long address = pair.from().local(8).address();
        long size = pair.out().remoteSize();

        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> post(pair, (to, context) -> to.read(size - 3, address, 7, context)))
                .withMessageContaining(Long.toString(size - 3))
                .withMessageContaining("7")
                .withMessageContaining(Long.toString(size));
    }

    @Test
    default void refusedPostsLeakNoResources() {
        Pair pair = fabrics().pair();
        long address = pair.from().local(8).address();
        long size = pair.out().remoteSize();
        for (int i = 0; i < REFUSED_POSTS; i++) {
            assertThat(catchThrowable(() -> post(pair, (to, context) -> to.write(size, address, 8, context))))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThat(catchThrowable(() -> post(pair, (to, context) -> to.fetchAdd(3, 1, address, context))))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(catchThrowable(() -> post(pair, (to, context) -> to.writeImm(-1, address, 8, 1, context))))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
        checkNothingHappened(pair);
    }

    private static void refusesRange(Pair pair, Range range, Posted.Operation operation) {
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .as("%s of %d bytes", range, pair.out().remoteSize())
                .isThrownBy(() -> post(pair, operation));
    }

    private static void post(Pair pair, Posted.Operation operation) {
        pair.from().recorder.post(pair.out(), operation);
    }

    /** Asserts that no byte changed, no handler was called, and the endpoint still works. */
    private void checkNothingHappened(Pair pair) {
        fabrics().settle();
        assertThat(pair.to().memory.segment().mismatch(MemorySegment.ofArray(new byte[(int) TestFabrics.MEMORY_BYTES])))
                .as("first byte of the peer's memory that changed")
                .isEqualTo(-1);
        assertThat(pair.to().log(pair.in()).immediates).isEmpty();
        MemorySegment local = pair.from().local(8);
        for (int i = 0; i < 100; i++) {
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(0, local.address(), 8, 1, context));
        }
        fabrics().until(() -> pair.to().log(pair.in()).immediates.size() == 100, "the immediates of valid posts");
    }
}
