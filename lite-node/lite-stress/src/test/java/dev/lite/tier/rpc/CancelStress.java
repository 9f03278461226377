package dev.lite.tier.rpc;

import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.StressPeers;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A server answers a call while its caller's node cancels it. The first result says whether it was cancelled, the second
 * counts the replies, the third whether the call is still listed as unanswered.
 */
@JCStressTest
@Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "Cancelled: no reply will come, and the slot is free.")
@Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "Answered: the reply returns the slot.")
@Outcome(
        expect = Expect.FORBIDDEN,
        desc = "A reply to a cancelled call lands in another call's slot (1, 1), or the slot is lost (0, 0).")
@State
public class CancelStress {
    private static final int SLOT = 0;
    private static final long CALL = 7;

    private final CountingEndpoint endpoint = new CountingEndpoint();
    private final AtomicReferenceArray<ReceivedCall> received = new AtomicReferenceArray<>(1);
    private final ReceivedCall call = call();

    @SuppressWarnings("NullAway") // neither the function nor other nodes' memory is used
    private ReceivedCall call() {
        Peer peer = StressPeers.connect(endpoint);
        RpcSlots slots = TestSlots.small();
        RpcSlotShare replies = slots.replies("n0", "f");
        RpcRing ring = new RpcRing(
                peer, 0, null, "a", replies, received, TestSlots.ADDRESS, 0, RpcWire.RING_BYTES, 0, 1, Runnable::run);
        RpcReplies sender = new RpcReplies(slots, null, any -> true, task -> {
            task.run();
            return true;
        });
        return new ReceivedCall(sender, ring, "n0", "a", new byte[0], 0, SLOT, 1024, 0, CALL, 1024, 0);
    }

    /** The call is listed. */
    public CancelStress() {
        received.set(SLOT, call);
    }

    /** The server. */
    @Actor
    public void answer() {
        call.reply(new byte[8]);
    }

    /** The caller's node. */
    @Actor
    public void cancel(III_Result result) {
        ReceivedCall found = received.get(SLOT);
        result.r1 = found != null && found.cancel(CALL) ? 1 : 0;
    }

    /** Counts what came of it. */
    @Arbiter
    public void check(III_Result result) {
        result.r2 = endpoint.messages.get();
        result.r3 = received.get(SLOT) == null ? 0 : 1;
    }
}
