package dev.lite.tier.onesided;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.tier.Operation;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts a node's transfers to and from other nodes by fabric. Bounded by the number of fabrics. Any thread. */
final class TransferCounts {
    private final Map<String, Fabric> fabrics = new ConcurrentHashMap<>();
    private final LongAdder repeated = new LongAdder();

    private static final class Fabric {
        private final Map<Kind, Adders> kinds = new EnumMap<>(Kind.class);

        Fabric() {
            for (Kind kind : new Kind[] {Kind.READ, Kind.WRITE, Kind.ATOMIC}) {
                kinds.put(kind, new Adders(new LongAdder(), new LongAdder()));
            }
        }

        Map<Kind, Count> sums() {
            Map<Kind, Count> sums = new EnumMap<>(Kind.class);
            kinds.forEach((kind, adders) -> sums.put(
                    kind, new Count(adders.operations().sum(), adders.bytes().sum())));
            return sums;
        }
    }

    private record Adders(LongAdder operations, LongAdder bytes) {}

    void count(String fabric, Operation operation, long bytes) {
        Fabric known = fabrics.get(fabric);
        Fabric counts = known != null ? known : fabrics.computeIfAbsent(fabric, name -> new Fabric());
        Adders adders = Objects.requireNonNull(counts.kinds.get(kind(operation)));
        adders.operations().increment();
        adders.bytes().add(bytes);
    }

    private static Kind kind(Operation operation) {
        return switch (operation) {
            case READ -> Kind.READ;
            case WRITE -> Kind.WRITE;
            case FETCH_ADD, COMPARE_AND_SWAP -> Kind.ATOMIC;
        };
    }

    /** An operation is repeated on the next connection. */
    void countRepeated() {
        repeated.increment();
    }

    long repeated() {
        return repeated.sum();
    }

    /** The sums by fabric and kind. */
    Map<String, Map<Kind, Count>> sums() {
        Map<String, Map<Kind, Count>> sums = new TreeMap<>();
        fabrics.forEach((name, fabric) -> sums.put(name, fabric.sums()));
        return sums;
    }
}
