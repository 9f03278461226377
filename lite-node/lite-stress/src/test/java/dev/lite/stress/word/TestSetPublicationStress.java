package dev.lite.stress.word;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/**
 * Like {@link PutLongPublicationStress}, by {@code testSet}, and into the memory of the reader's node.
 */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "The reader was first.")
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "The data was there before the word told so.")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "The reader of the new word saw all of the data.")
@Outcome(id = "1, 0", expect = Expect.FORBIDDEN, desc = "The word was changed, and a part of the data was old.")
@State
public class TestSetPublicationStress {
    private final long piece = WordNodes.nextPiece();

    /** Writes the data, then changes the word. */
    @Actor
    public void publish() {
        Data.write(WordNodes.THERE.data(), piece, 1);
        long unused = WordNodes.THERE.words().testSet(piece, 0, 1);
    }

    /** Reads the word, then the data. */
    @Actor
    public void look(JJ_Result result) {
        result.r1 = WordNodes.HERE.words().getLong(piece);
        result.r2 = Data.readOldest(WordNodes.HERE.data(), piece);
    }
}
