package dev.lite.tier.onesided;

/** What is posted. */
enum Operation {
    READ,
    WRITE,
    FETCH_ADD,
    COMPARE_AND_SWAP
}
