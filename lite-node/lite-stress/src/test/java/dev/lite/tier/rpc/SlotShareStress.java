package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
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
 * two results say whether they got it; the third counts the free slots at the end.
 */
@JCStressTest
@Outcome(id = "[01], [01], 1", expect = Expect.ACCEPTABLE, desc = "The slot had one owner at a time, and is free.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The slot had two owners (9), or was lost or doubled (the third is not 1).")
@State
public class SlotShareStress {
    private static final int BYTES = LtRpc.MESSAGE_BYTES_MAX;

    private final RpcSlots slots = TestSlots.large(1);
    private final RpcSlotShare first = slots.calls("a", "f");
    private final RpcSlotShare second = slots.calls("b", "f");
    private final AtomicBoolean used = new AtomicBoolean();

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
        used.set(false);
        slot.giveBack();
        return alone ? 1 : 9;
    }

    /** The share that has it; it is closed afterwards. */
    @Actor
    public void owner(III_Result result) {
        result.r1 = use(first.tryTake(BYTES));
        first.close();
    }

    /** The share that collects it. */
    @Actor
    public void other(III_Result result) {
        result.r2 = use(second.tryTake(BYTES));
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
