package dev.lite.demo.app;

/**
 * The totals of all calls. One atomic operation cannot update three numbers together, so each update reads, adds and writes
 * them under a lock. Two concurrent updates would lose one of them.
 */
record Tally(long extents, long bytes, long words) {
    Tally plus(Tally other) {
        return new Tally(extents + other.extents, bytes + other.bytes, words + other.words);
    }
}
