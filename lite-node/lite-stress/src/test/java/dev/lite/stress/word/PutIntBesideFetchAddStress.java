package dev.lite.stress.word;

import dev.lite.api.LmrHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** One node stores to the first {@code int} half of a word; the other node changes the second half by {@code fetchAdd} of the word. */
@JCStressTest
@Outcome(id = "7, 1", expect = Expect.ACCEPTABLE, desc = "The store changed its half only, and neither was lost.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The store overwrote the other half, or the addition overwrote the store.")
@State
public class PutIntBesideFetchAddStress {
    private static final LmrHandle HERE = WordNodes.HERE.words();
    private static final LmrHandle THERE = WordNodes.THERE.words();

    private final long piece = WordNodes.nextPiece();

    /** Stores to the first half. */
    @Actor
    public void half() {
        HERE.putInt(piece, 7);
    }

    /** Adds to the second half. */
    @Actor
    public void word() {
        long unused = THERE.fetchAdd(piece, WordNodes.ONE_IN_SECOND_HALF);
    }

    /** Called after both are done. */
    @Arbiter
    public void result(II_Result result) {
        result.r1 = HERE.getInt(piece);
        result.r2 = HERE.getInt(piece + Integer.BYTES);
    }
}
