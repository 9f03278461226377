package dev.lite.tier.onesided;

/** The operation of a post. */
enum Operation {
    READ,
    WRITE,
    FETCH_ADD,
    COMPARE_AND_SWAP
}
