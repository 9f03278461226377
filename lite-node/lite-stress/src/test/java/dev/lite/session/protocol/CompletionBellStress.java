package dev.lite.session.protocol;

import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * The bell of completions: the node completes a watched slot while the client's thread is about to block. The first result is whether
 * the node woke the client, the second whether the client was free to block.
 */
@JCStressTest
@Outcome(
        id = "0, 0",
        expect = Expect.ACCEPTABLE,
        desc = "The client saw the completion; the node saw a client that is awake.")
@Outcome(
        id = "1, 1",
        expect = Expect.ACCEPTABLE,
        desc = "The client was about to block; the node saw that and woke it.")
@Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "Each saw the other: the wake-up was not needed.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc =
                "0, 1: the client blocks and the node does not wake it. 9: the client saw a completion without its result.")
@State
public class CompletionBellStress {
    private static final int INCOMPLETE = 9;
    private static final int SLOT = 0;
    private static final long VALUE = 42;
    // States are many and short: they use the same areas in turn, far more than can be in use at once. Areas overlap.
    // The words of this test do not: the bell lies at a multiple of the stride, the slot's state and result do not.
    private static final int AREAS = 1 << 15;
    private static final long STRIDE = 256;
    private static final long ALL_AREAS = Arena.global()
            .allocate(AREAS * STRIDE + SessionArea.slotOffset(SLOT + 1), STRIDE)
            .address();
    private static final AtomicInteger NEXT = new AtomicInteger();

    private final long area = ALL_AREAS + (NEXT.getAndIncrement() & (AREAS - 1)) * STRIDE;
    private final long slot = area + SessionArea.slotOffset(SLOT);
    private final CompletionBell bell;

    /** A slot with a watched command. */
    public CompletionBellStress() {
        RawMemory.putLong(slot + SessionArea.RESULT, 0);
        RawMemory.putInt(slot + SessionArea.STATE, SessionArea.STATE_WATCHED);
        RawMemory.putInt(area + SessionArea.BELL, SessionArea.BELL_AWAKE);
        bell = new CompletionBell(area);
    }

    /** The node. */
    @Actor
    public void complete(II_Result result) {
        RawMemory.putLong(slot + SessionArea.RESULT, VALUE);
        result.r1 = bell.done(SLOT) ? 1 : 0;
    }

    /** The client. */
    @Actor
    public void block(II_Result result) {
        bell.arm();
        if (RawMemory.getIntAcquire(slot + SessionArea.STATE) != SessionArea.STATE_DONE) {
            result.r2 = 1;
        } else {
            result.r2 = RawMemory.getLong(slot + SessionArea.RESULT) == VALUE ? 0 : INCOMPLETE;
        }
    }
}
