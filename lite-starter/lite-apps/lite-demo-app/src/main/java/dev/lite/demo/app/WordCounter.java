package dev.lite.demo.app;

/**
 * Counts the words that begin in a part of a text. The counts of neighbouring parts add up to the count of the whole,
 * wherever the boundary lies, as long as each counter knows whether a word has begun before its part
 * ({@link #lookBehind}). Not for several threads.
 */
final class WordCounter {

    private final byte[] kinds;
    /** 1 within a word, else 0. */
    private int inWord;

    private long words;

    /** For a text's first part, and for a later one after {@link #lookBehind}. */
    WordCounter(WordRule rule) {
        this.kinds = rule.kinds();
    }

    /**
     * Looks at bytes that lie right before the part, the nearest ones first.
     *
     * @return whether it is known now if a word has begun; else the bytes before these decide, and there being none means
     *     that none has
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

    /** Counts on in the next bytes of the part. No branch depends on the text: on binary files that is several times faster. */
    void add(byte[] text, int from, int to) {
        int in = inWord;
        long begun = 0;
        for (int i = from; i < to; i++) {
            int kind = kinds[text[i] & 0xff];
            int isWord = kind >> 1;
            begun += isWord & ~in;
            // A neutral byte keeps what was, a space clears it.
            in = (in & kind) | isWord;
        }
        inWord = in;
        words += begun;
    }

    /** How many words have begun in the part so far. */
    long words() {
        return words;
    }
}
