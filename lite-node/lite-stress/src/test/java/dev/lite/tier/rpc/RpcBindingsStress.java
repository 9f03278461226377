package dev.lite.tier.rpc;

import dev.lite.api.NodeUnreachableException;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.StressPeers;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A caller binds a function while the connection ends. The first result says whether it got a binding, the second counts
 * the bindings that are kept, the third the slots that their share can still take.
 */
@JCStressTest
@Outcome(id = "[01], 0, 0", expect = Expect.ACCEPTABLE, desc = "Nothing of the connection is left.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A binding of a connection that has ended is kept, or its share is open.")
@State
public class RpcBindingsStress {
    private static final Peer PEER = StressPeers.connect(new CountingEndpoint());

    private volatile boolean connected = true;
    private final RpcSlots slots = TestSlots.small();
    private final RpcBindings bindings = new RpcBindings(
            TestSlots.ADDRESS,
            bytes -> 0,
            slots,
            (peer, function, principal, headOffset, generation, bytes, deadline) -> new RpcBindings.Ring(0, 0, bytes),
            peer -> connected);
    private volatile RpcSlotShare share = slots.calls("none", "none");

    /** No share is open but the binding's. */
    public RpcBindingsStress() {
        share.close();
    }

    /** The caller. */
    @Actor
    public void bind(III_Result result) {
        try {
            share = bindings.get(PEER, "f", "a", System.nanoTime() + 10_000_000_000L).slots;
            result.r1 = 1;
        } catch (NodeUnreachableException e) {
            result.r1 = 0;
        }
    }

    /** The end of the connection, as the links report it. */
    @Actor
    public void end() {
        connected = false;
        bindings.remove(PEER);
    }

    /** Counts what is left. */
    @Arbiter
    public void check(III_Result result) {
        result.r2 = bindings.count();
        result.r3 = share.closed ? 0 : 1;
    }
}
