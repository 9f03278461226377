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
 * The doorbell of a session: a client submits a command while the node is about to block. The first result is whether the client woke
 * the node, the second whether the node was free to block.
 */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The node saw the command; the client saw a node that polls.")
@Outcome(
        id = "1, 1",
        expect = Expect.ACCEPTABLE,
        desc = "The node was about to block; the client saw that and woke it.")
@Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "Each saw the other: the wake-up was not needed.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc = "0, 1: the node blocks and no client wakes it. 9: the node fetched a command without its fields.")
@State
public class DoorbellStress {
    private static final int INCOMPLETE = 9;
    private static final int SLOT = 3;
    private static final long LENGTH = 42;
    private static final long HEADER_BYTES = 256;
    // States are many and short: they use the same few areas in turn, far more than can be in use at once.
    private static final int AREAS = 1 << 15;
    private static final long ALL_AREAS =
            Arena.global().allocate(AREAS * HEADER_BYTES, 128).address();
    private static final AtomicInteger NEXT = new AtomicInteger();

    private final long area = ALL_AREAS + (NEXT.getAndIncrement() & (AREAS - 1)) * HEADER_BYTES;
    private final long field = area;
    private final Doorbell doorbell;

    /** An area that was never used. */
    public DoorbellStress() {
        RawMemory.fill(area, HEADER_BYTES, (byte) 0);
        doorbell = new Doorbell(area);
    }

    /** The client. */
    @Actor
    public void submit(II_Result result) {
        RawMemory.putLong(field, LENGTH);
        result.r1 = doorbell.submit(SLOT) ? 1 : 0;
    }

    /** The node. */
    @Actor
    public void block(II_Result result) {
        if (doorbell.arm()) {
            result.r2 = 1;
        } else {
            boolean complete = doorbell.fetch() == 1L << SLOT && RawMemory.getLong(field) == LENGTH;
            result.r2 = complete ? 0 : INCOMPLETE;
        }
    }
}
