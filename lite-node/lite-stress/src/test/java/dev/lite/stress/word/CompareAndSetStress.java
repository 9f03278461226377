package dev.lite.stress.word;

import dev.lite.api.LmrHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two nodes try to change one word from 0, one of them through its {@code int} half. */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The first node won.")
@Outcome(id = "1, 2", expect = Expect.ACCEPTABLE, desc = "The second node won.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Both succeeded, or none did, or the word is not the winner's.")
@State
public class CompareAndSetStress {
    private static final LmrHandle HERE = WordNodes.HERE.words();
    private static final LmrHandle THERE = WordNodes.THERE.words();

    private final long piece = WordNodes.nextPiece();
    private int wins;
    private int others;

    /** By the half. */
    @Actor
    public void half() {
        wins = HERE.compareAndSetInt(piece, 0, 1) ? 1 : 0;
    }

    /** By the word. */
    @Actor
    public void word() {
        others = THERE.compareAndSet(piece, 0, WordNodes.TWO_IN_FIRST_HALF) ? 1 : 0;
    }

    /** Called after both are done. */
    @Arbiter
    public void result(II_Result result) {
        result.r1 = wins + others;
        result.r2 = HERE.getInt(piece);
    }
}
