package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Two shares want the only slot, which is free in the first one: each takes it, if it gets it, and returns it. The first
 * share is closed meanwhile. The first two results say whether they got the slot; the third counts the free slots at the
 * end.
 */
@JCStressTest
@Outcome(id = "[01], [01], 1", expect = Expect.ACCEPTABLE, desc = "The slot had one owner at a time, and is free.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The slot had two owners (9), or was lost or doubled (the third is not 1).")
@State
public class SlotShareStress {
    private static final int BYTES = LtRpc.MESSAGE_BYTES_MAX;

    /** The owner keeps the slot for a varying time, so that the other meets it at different points. A power of two. */
    private static final int LATE_MAX = 64;

    private static int count; // lost updates do not matter

    private final RpcSlots slots = TestSlots.large(1);
    private final RpcSlotShare first = slots.calls("a", "f");
    private final RpcSlotShare second = slots.calls("b", "f");
    private final AtomicBoolean used = new AtomicBoolean();
    private final int number = count++;
    private final int late = number & (LATE_MAX - 1);

    /** The slot is free in the first share. */
    public SlotShareStress() {
        RpcSlot slot = first.tryTake(BYTES);
        if (slot == null) {
            throw new IllegalStateException("no slot");
        }
        slot.giveBack();
    }

    private int use(@Nullable RpcSlot slot) {
        if (slot == null) {
            return 0;
        }
        boolean alone = used.compareAndSet(false, true);
        for (int spins = 0; spins < late; spins++) {
            Thread.onSpinWait();
        }
        used.set(false);
        slot.giveBack();
        return alone ? 1 : 9;
    }

    /** The share that has it. It may be closed meanwhile, at each step. */
    @Actor
    public void owner(III_Result result) {
        try {
            result.r1 = use(first.tryTake(BYTES));
        } catch (NodeUnreachableException closed) {
            result.r1 = 0;
        }
    }

    /** The share that collects it, if it wants to; then the first one is closed. */
    @Actor
    public void other(III_Result result) {
        boolean collects = (number & LATE_MAX) != 0;
        result.r2 = use(collects ? second.tryTake(BYTES) : null);
        first.close();
    }

    /** Takes what is free: in a share, or in the stock. */
    @Arbiter
    public void check(III_Result result) {
        for (RpcSlot slot = first.pop(2); slot != null && result.r3 < 3; slot = first.pop(2)) {
            result.r3 += 2; // a closed share keeps none
        }
        RpcSlot slot = second.tryTake(BYTES);
        while (slot != null && result.r3 < 3) {
            result.r3++;
            slot = second.tryTake(BYTES);
        }
    }
}
