package dev.lite.tier.rpc;

import dev.lite.api.LtRpc;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * One thread takes and returns a slot of a share with two free ones, while another takes both and returns the first: the
 * head of the list is the same again, but the list is not. The first result counts slots that two owned at once, the
 * second those that are free at the end.
 */
@JCStressTest
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "Each slot had one owner, and the returned one is free.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A slot had two owners, or was lost.")
@State
public class SlotReuseStress {
    private static final int BYTES = LtRpc.MESSAGE_BYTES_MAX;
    private static final int ROUNDS = 5;

    private final RpcSlotShare share = TestSlots.large(2).calls("a", "f");
    private final boolean[] kept = new boolean[2];
    private int doubled;

    /** Two free slots. */
    public SlotReuseStress() {
        RpcSlot first = share.tryTake(BYTES);
        RpcSlot second = share.tryTake(BYTES);
        if (first == null || second == null) {
            throw new IllegalStateException("no slots");
        }
        first.giveBack();
        second.giveBack();
    }

    /** Takes one and returns it, several times. */
    @Actor
    public void borrow() {
        for (int round = 0; round < ROUNDS; round++) {
            RpcSlot slot = share.pop(2);
            if (slot != null) {
                slot.giveBack();
            }
        }
    }

    /** Takes both, unless the other thread has one, and returns the first, several times; keeps the last one in the end. */
    @Actor
    public void keep() {
        RpcSlot mine = share.pop(2);
        for (int round = 0; round < ROUNDS; round++) {
            RpcSlot next = share.pop(2);
            if (next != null && mine != null) {
                mine.giveBack();
            }
            mine = next != null ? next : mine;
        }
        if (mine != null) {
            kept[mine.index] = true;
        }
    }

    /** Takes what is free. */
    @Arbiter
    public void check(II_Result result) {
        for (RpcSlot slot = share.pop(2); slot != null; slot = share.pop(2)) {
            if (kept[slot.index]) {
                doubled++;
            }
            if (++result.r2 > 2) {
                break; // the list has a loop
            }
        }
        result.r1 = doubled;
    }
}
