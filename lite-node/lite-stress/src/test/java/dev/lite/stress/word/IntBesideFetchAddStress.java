package dev.lite.stress.word;

import dev.lite.api.LmrHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** One node changes the first {@code int} half of a word; the other node changes the whole word by {@code fetchAdd}, but only its second half. */
@JCStressTest
@Outcome(
        id = "1, 9, 4",
        expect = Expect.ACCEPTABLE,
        desc = "All changes of each half are there, although they changed the same word.")
@Outcome(id = "0, .*, .*", expect = Expect.FORBIDDEN, desc = "A change of the other half made a compareAndSetInt fail.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A change was lost.")
@State
public class IntBesideFetchAddStress {
    private static final int TIMES = 4;

    private static final LmrHandle HERE = WordNodes.HERE.words();
    private static final LmrHandle THERE = WordNodes.THERE.words();

    private final long piece = WordNodes.nextPiece();
    private boolean set;

    /** Sets the first half, then adds to it four times. */
    @Actor
    public void half() {
        set = HERE.compareAndSetInt(piece, 0, 5);
        for (int i = 0; i < TIMES; i++) {
            int unused = HERE.getAndAddInt(piece, 1);
        }
    }

    /** Adds to the second half, as often. */
    @Actor
    public void word() {
        for (int i = 0; i < TIMES; i++) {
            long unused = THERE.fetchAdd(piece, WordNodes.ONE_IN_SECOND_HALF);
        }
    }

    /** Called after both are done. */
    @Arbiter
    public void result(III_Result result) {
        result.r1 = set ? 1 : 0;
        result.r2 = HERE.getInt(piece);
        result.r3 = HERE.getInt(piece + Integer.BYTES);
    }
}
