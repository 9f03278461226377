package dev.lite.tier;

/** What a one-sided access does to memory of another node. */
public enum Operation {
    READ,
    WRITE,
    FETCH_ADD,
    COMPARE_AND_SWAP;

    /** Whether it reads and changes one word, at once. */
    public boolean isAtomic() {
        return this == FETCH_ADD || this == COMPARE_AND_SWAP;
    }
}
