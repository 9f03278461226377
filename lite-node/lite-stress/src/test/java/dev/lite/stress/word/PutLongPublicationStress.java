package dev.lite.stress.word;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/**
 * One node writes data and then a word; the other node, which has that memory mapped, reads the word and then the data.
 */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The reader was first.")
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "The data was there before the word told so.")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The reader of the new word saw all of the data.")
@Outcome(id = "1, 0", expect = Expect.FORBIDDEN, desc = "The word was changed, and a part of the data was old.")
@State
public class PutLongPublicationStress {
    private final long piece = WordNodes.nextPiece();

    /** Writes the data, then changes the word. */
    @Actor
    public void publish() {
        Data.write(WordNodes.HERE.data(), piece, 1);
        WordNodes.HERE.words().putLong(piece, 1);
    }

    /** Reads the word, then the data. */
    @Actor
    public void look(JJ_Result result) {
        result.r1 = WordNodes.THERE.words().getLong(piece);
        result.r2 = Data.readOldest(WordNodes.THERE.data(), piece);
    }
}
