package dev.lite.tier.sync;

import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.MappingOwner;
import java.time.Duration;

/** The owner of the mapping of a word, for tests without a node. */
abstract class WordOwner implements MappingOwner {
    @Override
    public Duration deadline() {
        return Waits.seconds(20);
    }

    @Override
    public String nodeName(int node) {
        return "n" + node;
    }

    @Override
    public void unmapped(Mapping unmapped) {
        // nothing to do
    }

    @Override
    public int allowed(LmrRecord lmr) {
        return Permission.ATOMIC.bit();
    }
}
