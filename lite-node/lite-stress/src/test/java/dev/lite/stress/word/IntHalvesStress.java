package dev.lite.stress.word;

import dev.lite.api.LmrHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two nodes add to the two {@code int} halves of one word, each to its own. */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "Neither change lost the other one.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The change of one half overwrote the other half.")
@State
public class IntHalvesStress {
    private static final LmrHandle HERE = WordNodes.HERE.words();
    private static final LmrHandle THERE = WordNodes.THERE.words();

    private final long piece = WordNodes.nextPiece();

    /** Adds to the first half. */
    @Actor
    public void first() {
        int unused = HERE.getAndAddInt(piece, 1);
    }

    /** Adds to the second half. */
    @Actor
    public void second() {
        int unused = THERE.getAndAddInt(piece + Integer.BYTES, 1);
    }

    /** Called after both are done. */
    @Arbiter
    public void result(II_Result result) {
        result.r1 = HERE.getInt(piece);
        result.r2 = HERE.getInt(piece + Integer.BYTES);
    }
}
