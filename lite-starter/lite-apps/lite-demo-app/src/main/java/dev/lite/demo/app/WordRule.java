package dev.lite.demo.app;

/**
 * The definition of a word, byte by byte, in the C locale. In both rules words are separated by space, tab, newline,
 * vertical tab, form feed and carriage return.
 */
public enum WordRule {
    /** Every run of other bytes is a word, as in POSIX. */
    ANY,
    /** Only a run with at least one printable ASCII byte is a word, as GNU wc 9.1 and older count. */
    PRINTABLE;

    // WordCounter computes with these values: bit 1 begins a word, bit 0 keeps the state.

    /** A byte that ends a word. */
    static final byte SPACE = 0;
    /** A byte that neither begins nor ends a word. */
    static final byte NEUTRAL = 1;
    /** A byte that begins a word unless one has begun. */
    static final byte WORD = 2;

    /** The kind of each of the 256 bytes. */
    byte[] kinds() {
        byte[] kinds = new byte[256];
        for (int value = 0; value < kinds.length; value++) {
            kinds[value] = kind(value);
        }
        return kinds;
    }

    private byte kind(int value) {
        if (value == ' ' || (value >= '\t' && value <= '\r')) {
            return SPACE;
        }
        boolean printable = value > ' ' && value < 0x7f;
        return this == ANY || printable ? WORD : NEUTRAL;
    }
}
