package dev.lite.stress.word;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.J_Result;

/** One node writes a word, of which every byte changes; the other node reads it. */
@JCStressTest
@Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "The word before the write.")
@Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "The word that was written, as a whole.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A part of each: the word was torn.")
@State
public class WholeLongStress {
    private final long piece = WordNodes.nextPiece();

    /** Writes. */
    @Actor
    public void write() {
        WordNodes.HERE.words().putLong(piece, -1);
    }

    /** Reads. */
    @Actor
    public void read(J_Result result) {
        result.r1 = WordNodes.THERE.words().getLong(piece);
    }
}
