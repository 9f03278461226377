package dev.lite.tier.rpc;

import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a function that wait for a server: those of high priority before those of low priority. After {@value
 * #HIGH_IN_A_ROW} of high priority, one of low priority goes first, so that these never wait for ever. Guarded by the lock of
 * the function.
 */
final class RpcQueue {
    static final int HIGH_IN_A_ROW = 16;

    private final Entries high = new Entries();
    private final Entries low = new Entries();
    private int highInARow;

    /** In the order of their arrival, linked by their own field. */
    private static final class Entries {
        private @Nullable RpcEntry first;
        private @Nullable RpcEntry last;

        void add(RpcEntry entry) {
            if (entry.queued) {
                return;
            }
            entry.queued = true;
            entry.next = null;
            RpcEntry before = last;
            if (before == null) {
                first = entry;
            } else {
                before.next = entry;
            }
            last = entry;
        }

        void addFirst(RpcEntry entry) {
            if (entry.queued) {
                return;
            }
            entry.queued = true;
            entry.next = first;
            first = entry;
            if (last == null) {
                last = entry;
            }
        }

        @Nullable
        RpcEntry poll() {
            RpcEntry entry = first;
            if (entry != null) {
                first = entry.next;
                entry.next = null;
                entry.queued = false;
                if (first == null) {
                    last = null;
                }
            }
            return entry;
        }

        @Nullable
        RpcEntry remove(Predicate<RpcEntry> isIt) {
            RpcEntry before = null;
            for (RpcEntry entry = first; entry != null; entry = entry.next) {
                if (isIt.test(entry)) {
                    if (before == null) {
                        first = entry.next;
                    } else {
                        before.next = entry.next;
                    }
                    if (last == entry) {
                        last = before;
                    }
                    entry.next = null;
                    entry.queued = false;
                    return entry;
                }
                before = entry;
            }
            return null;
        }

        int size() {
            int size = 0;
            for (RpcEntry entry = first; entry != null; entry = entry.next) {
                size++;
            }
            return size;
        }
    }

    /** Does nothing if the entry is queued: a hostile caller may announce a place again. */
    void add(RpcEntry entry) {
        (entry.isLow() ? low : high).add(entry);
    }

    /** Adds a removed call again, before all others. Does not read its priority: its ring may have ended. */
    void putBack(RpcEntry entry) {
        high.addFirst(entry);
    }

    boolean isEmpty() {
        return high.first == null && low.first == null;
    }

    int size() {
        return high.size() + low.size();
    }

    /** Removes the next call; null if there is none. */
    @Nullable
    RpcEntry poll() {
        if (low.first != null && (high.first == null || highInARow >= HIGH_IN_A_ROW)) {
            highInARow = 0;
            return low.poll();
        }
        highInARow = low.first == null ? 0 : highInARow + 1;
        return high.poll();
    }

    /** Removes the next call if it is of high priority and passes the check; null if there is none such. */
    @Nullable
    RpcEntry pollHigh(Predicate<RpcEntry> check) {
        RpcEntry next = high.first;
        return next != null && low.first == null && check.test(next) ? high.poll() : null;
    }

    /** Removes a call; null if it is not queued. */
    @Nullable
    RpcEntry remove(Predicate<RpcEntry> isIt) {
        RpcEntry found = high.remove(isIt);
        return found != null ? found : low.remove(isIt);
    }
}
