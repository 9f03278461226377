package dev.lite.tier.memory;

import dev.lite.os.InFlight;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * The reclamation rule in its smallest form: one thread accesses memory through a handle, as {@link Mapping} does; another
 * revokes the handle's permissions, waits for running operations, and gives the memory to a new owner.
 */
@JCStressTest
@Outcome(
        id = "0",
        expect = Expect.ACCEPTABLE,
        desc = "The permissions were revoked before the operation checked: it accessed nothing.")
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "The operation was first, and the revocation waited for it.")
@Outcome(
        id = "2",
        expect = Expect.FORBIDDEN,
        desc =
                "The operation saw its permissions, the revocation did not wait for it, and it accessed memory of the next owner.")
@State
public class RevocationStress {
    private static final int FORMER = 1;
    private static final int NEXT = 2;

    private static final int COPY_SPINS = 100;

    // Stores that miss the cache and so delay the following store to the slot.
    private static final int COLD_STORES = 24;
    private static final int COLD_STRIDE = 1_048_583;
    private static final int[] COLD = new int[1 << 24];

    private final int number = InFlight.newNumber();
    private volatile int rights = 1;
    private int memory = FORMER;

    /** The operation. */
    @Actor
    public void operate(I_Result result) {
        int at = number * 7919;
        for (int store = 0; store < COLD_STORES; store++) {
            at += COLD_STRIDE;
            COLD[at & (COLD.length - 1)] = number;
        }
        long slot = InFlight.enter(number);
        try {
            if (rights != 0) {
                // A long copy: the other thread checks every slot before it ends.
                for (int spins = 0; spins < COPY_SPINS; spins++) {
                    Thread.onSpinWait();
                }
                result.r1 = memory;
            }
        } finally {
            InFlight.exit(slot);
        }
    }

    /** Revokes the permissions and reuses the memory. */
    @Actor
    public void revoke() {
        rights = 0;
        InFlight.awaitEnd(mapping -> mapping == number);
        memory = NEXT;
    }
}
