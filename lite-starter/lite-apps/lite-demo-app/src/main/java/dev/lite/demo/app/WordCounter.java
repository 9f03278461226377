package dev.lite.demo.app;

/**
 * Counts the words that begin in a part of a text. The counts of adjacent parts add up to the count of the whole, wherever
 * the boundary is, if each counter knows whether a word began before its part ({@link #lookBehind}). Not thread-safe.
 */
final class WordCounter {

    private final byte[] kinds;
    /** 1 within a word, else 0. */
    private int inWord;

    private long words;

    /** For the first part of a text, and for later parts after {@link #lookBehind}. */
    WordCounter(WordRule rule) {
        this.kinds = rule.kinds();
    }

    /**
     * Examines bytes directly before the part, from the last to the first.
     *
     * @return whether these bytes decide if a word has begun. If not, call it again with earlier bytes; without any, no
     *     word has begun
     */
    boolean lookBehind(byte[] text, int from, int to) {
        for (int i = to - 1; i >= from; i--) {
            byte kind = kinds[text[i] & 0xff];
            if (kind != WordRule.NEUTRAL) {
                inWord = kind == WordRule.WORD ? 1 : 0;
                return true;
            }
        }
        return false;
    }

    /** Counts the next bytes of the part. No branch depends on the text, which is several times faster on binary files. */
    void add(byte[] text, int from, int to) {
        int in = inWord;
        long begun = 0;
        for (int i = from; i < to; i++) {
            int kind = kinds[text[i] & 0xff];
            int isWord = kind >> 1;
            begun += isWord & ~in;
            // A neutral byte keeps the state; a space clears it.
            in = (in & kind) | isWord;
        }
        inWord = in;
        words += begun;
    }

    /** The number of words that have begun in the part so far. */
    long words() {
        return words;
    }
}
