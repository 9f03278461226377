package dev.lite.tier.peer;

import dev.lite.cluster.NodeRecord;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Records since when nodes have been out of the cluster. A node that restarts returns within seconds, so operations on its memory wait
 * for it. A node that has been away for longer than the grace time is lost. Bounded by the number of node ids. Any thread.
 */
final class Absences {
    private static final Duration GRACE_DEFAULT = Duration.ofSeconds(30);

    private final Map<Integer, Long> sinceNs = new ConcurrentHashMap<>();
    private volatile Set<Integer> live = Set.of();
    private volatile long graceNs = GRACE_DEFAULT.toNanos();

    void setGrace(Duration grace) {
        graceNs = grace.toNanos();
    }

    /** Sets the live nodes. One thread at a time. */
    void setLive(Collection<NodeRecord> nodes) {
        Set<Integer> now = new HashSet<>();
        nodes.forEach(node -> now.add(node.id()));
        Set<Integer> before = live;
        live = now;
        sinceNs.keySet().removeAll(now);
        // Replaces a time that a thread recorded which had asked just before the node was live.
        long nowNs = System.nanoTime();
        before.stream().filter(node -> !now.contains(node)).forEach(node -> sinceNs.put(node, nowNs));
    }

    /** When the node left, or when this was asked first, of {@link System#nanoTime}. */
    private long absentSinceNs(int node) {
        return sinceNs.computeIfAbsent(node, absent -> System.nanoTime());
    }

    /** How long operations still wait for a node that is not live, in nanoseconds; 0 if no longer. */
    long waitNs(int node) {
        return Math.max(0, graceNs - awayNs(node));
    }

    /** How long the node has been away, in nanoseconds. */
    long awayNs(int node) {
        return System.nanoTime() - absentSinceNs(node);
    }
}
