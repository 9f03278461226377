package dev.lite.session.protocol;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.os.OwnedCounters;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Counts the commands of a session by kind; used by both sides. Only the owner of a slot counts with that slot; any thread reads.
 * A command costs about a nanosecond here.
 */
public final class CommandCounts {
    private static final int NONE = -1;
    /** The counter of the operations of a kind; that of their bytes is the next. */
    private static final EnumMap<Kind, Integer> COUNTERS = new EnumMap<>(Kind.class);

    private static final int[] COUNTER_OF_OP = new int[Op.FAIL + 1];

    static {
        for (Kind kind : Kind.values()) {
            COUNTERS.put(kind, 2 * COUNTERS.size());
        }
        for (int op = 0; op < COUNTER_OF_OP.length; op++) {
            Kind kind = kindOf(op);
            COUNTER_OF_OP[op] = kind == null ? NONE : COUNTERS.getOrDefault(kind, NONE);
        }
    }

    private final OwnedCounters counters = new OwnedCounters(SessionArea.SLOTS_MAX, 2 * COUNTERS.size());

    /** Makes counters that are all 0. */
    public CommandCounts() {}

    /** The kind of an operation; null for one that is not counted. */
    public static @Nullable Kind kindOf(int op) {
        return switch (op) {
            case Op.READ -> Kind.READ;
            case Op.WRITE -> Kind.WRITE;
            case Op.FETCH_ADD, Op.TEST_SET -> Kind.ATOMIC;
            case Op.MEMSET -> Kind.MEMSET;
            case Op.TRY_LOCK -> Kind.LOCK;
            case Op.CALL -> Kind.CALL;
            case Op.REPLY, Op.REPLY_AND_RECEIVE, Op.FAIL -> Kind.ANSWER;
            default -> null;
        };
    }

    /**
     * Counts a command.
     *
     * @return how many of its kind this slot has counted; 0 if the kind is not counted
     */
    public long count(int slot, int op, long bytes) {
        int counter = op < 0 || op >= COUNTER_OF_OP.length ? NONE : COUNTER_OF_OP[op];
        if (counter == NONE) {
            return 0;
        }
        long unused = counters.add(slot, counter + 1, bytes);
        return counters.add(slot, counter, 1);
    }

    /** The sums over all slots. */
    public Map<Kind, Count> sums() {
        EnumMap<Kind, Count> sums = new EnumMap<>(Kind.class);
        COUNTERS.forEach((kind, counter) -> {
            long operations = counters.sum(counter);
            if (operations > 0) {
                sums.put(kind, new Count(operations, counters.sum(counter + 1)));
            }
        });
        return sums;
    }
}
