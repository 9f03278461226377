package dev.lite.demo.app;

import dev.lite.api.LmrHandle;
import dev.lite.demo.app.Control.Word;
import java.lang.foreign.MemorySegment;

/** Reads parts of the stored file from remote memory, in pieces, and counts their words. */
final class Pieces {

    /** The size of a piece in bytes. */
    static final int PIECE_BYTES = 4 << 20;

    /** Receives the pieces of a part in order; the array is reused for the next piece. */
    interface PieceConsumer {
        void accept(byte[] bytes, int length);
    }

    private final LmrHandle file;
    private final Control control;
    private final byte[] piece = new byte[PIECE_BYTES];

    Pieces(LmrHandle file, Control control) {
        this.file = file;
        this.control = control;
    }

    /** Reads {@code from} to {@code to} and counts the words that begin there. */
    long count(WordRule rule, long from, long to) {
        WordCounter counter = new WordCounter(rule);
        lookBehind(counter, from);
        for (long offset = from; offset < to; ) {
            int length = readPiece(offset, to);
            counter.add(piece, 0, length);
            offset += length;
        }
        return counter.words();
    }

    /** Reads {@code from} to {@code to} and passes each piece and its length on, in order. */
    void read(long from, long to, Progress progress, PieceConsumer pieces) {
        for (long offset = from; offset < to; ) {
            int length = readPiece(offset, to);
            pieces.accept(piece, length);
            offset += length;
            control.add(Word.READ, length);
            progress.at(offset - from);
        }
    }

    private void lookBehind(WordCounter counter, long from) {
        long to = from;
        boolean known = false;
        while (!known && to > 0) {
            long start = Math.max(0, to - 4096);
            int length = readPiece(start, to);
            known = counter.lookBehind(piece, 0, length);
            to = start;
        }
    }

    private int readPiece(long from, long to) {
        int length = (int) Math.min(piece.length, to - from);
        file.read(from, MemorySegment.ofArray(piece).asSlice(0, length));
        return length;
    }
}
