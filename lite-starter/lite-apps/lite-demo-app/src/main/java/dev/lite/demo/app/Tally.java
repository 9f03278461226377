package dev.lite.demo.app;

/**
 * What all calls counted together. Three numbers that belong together cannot be added up by one atomic step: whoever adds
 * reads them, adds, and writes them back, under a lock. If two ever did it at once, one's share would be missing.
 */
record Tally(long extents, long bytes, long words) {
    Tally plus(Tally other) {
        return new Tally(extents + other.extents, bytes + other.bytes, words + other.words);
    }
}
