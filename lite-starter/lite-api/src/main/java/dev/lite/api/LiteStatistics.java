package dev.lite.api;

import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A snapshot of what a session has done and what it holds, for metrics and for people. Immutable.
 *
 * @param operations the operations of the session, including failed ones and, with re-attachment, those before a loss of the node. Kinds
 *     that never occurred are missing. An embedded session counts only transfers to and from other nodes, and those of its whole node;
 *     counting operations on memory of the same host, which take nanoseconds, would slow them down
 * @param handles mapped handles
 * @param functions functions that the session serves, sorted
 * @param ports ports that it has open, sorted
 * @param locks locks that it holds, sorted; a lock that was lost stays here until the application closes it
 */
public record LiteStatistics(
        Map<Kind, Count> operations, int handles, List<String> functions, List<String> ports, List<String> locks) {
    /** Nothing done, nothing held. */
    public static final LiteStatistics NONE = new LiteStatistics(Map.of(), 0, List.of(), List.of(), List.of());

    /** Makes defensive copies. */
    public LiteStatistics {
        EnumMap<Kind, Count> copy = new EnumMap<>(Kind.class);
        copy.putAll(operations);
        operations = Collections.unmodifiableMap(copy);
        functions = functions.stream().sorted().toList();
        ports = ports.stream().sorted().toList();
        locks = locks.stream().sorted().toList();
    }

    /** A kind of operation. */
    public enum Kind {
        /** {@link LmrHandle#read}; a long one counts once for each window of the session. */
        READ,
        /** {@link LmrHandle#write}; a long one counts once for each window of the session. */
        WRITE,
        /** {@link LmrHandle#fetchAdd}, {@link LmrHandle#testSet} and the methods based on them. */
        ATOMIC,
        /** {@link LmrHandle#memset}. */
        MEMSET,
        /** {@link LtMemory#memcpy} and {@link LtMemory#memmove}, when they have succeeded. */
        MEMCPY,
        /** Calls of functions and messages to ports. */
        CALL,
        /** Calls that this session answered. */
        ANSWER,
        /** Attempts to acquire a lock. */
        LOCK;

        /** The name in metrics, lower case. */
        public String tag() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Operations of one kind.
     *
     * @param operations the number of operations
     * @param bytes the number of data bytes; for calls and answers only those that were sent
     */
    public record Count(long operations, long bytes) {
        /** The sum of both. */
        public Count plus(Count other) {
            return new Count(operations + other.operations, bytes + other.bytes);
        }
    }

    /** Receives the durations of some operations. */
    @FunctionalInterface
    public interface Sampler {
        /**
         * An operation has ended. Called by its thread, which must not block here.
         *
         * @param nanos from its start to its end
         */
        void sampled(Kind kind, long nanos);
    }
}
