package dev.lite.tier.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.waiting.StagedWait;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Divides the processors among long fills and copies on virtual threads, which would otherwise keep all carriers from calls and
 * requests of others. The work comes in pieces of {@value #PIECE_BYTES} bytes, of some 50 µs. All but one of the processors work on
 * pieces at a time, and the owners take turns, piece by piece. Platform threads do not wait here. Any thread.
 *
 * <p>Memory: an entry for each thread that waits.
 */
public final class BulkTurns {
    /** Bytes of a piece at most, unless it must not be divided. */
    public static final long PIECE_BYTES = 1 << 20;

    private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

    /** The carriers belong to the process, too. */
    private static final BulkTurns OF_PROCESS = new BulkTurns(Math.max(1, PROCESSORS - 1));

    private final int max;

    @GuardedBy("this")
    private int running;

    /** By owner, the next one first: its threads. */
    @GuardedBy("this")
    private final Map<String, ArrayDeque<Turn>> waiting = new LinkedHashMap<>();

    private static final class Turn {
        final Thread thread = Thread.currentThread();
        volatile boolean come;
    }

    /** @param max the number of pieces at a time */
    BulkTurns(int max) {
        this.max = max;
    }

    /**
     * Runs a piece of work, which must not block, when it is its owner's turn.
     *
     * @param owner whose work it is, such as a principal
     */
    public static void take(String owner, Runnable piece) {
        if (Thread.currentThread().isVirtual()) {
            OF_PROCESS.run(owner, piece);
            if (PROCESSORS == 1) {
                StagedWait.letOthersRun(); // to the other virtual threads of the only carrier
            }
        } else {
            piece.run();
        }
    }

    void run(String owner, Runnable piece) {
        enter(owner);
        try {
            piece.run();
        } finally {
            leave();
        }
    }

    private void enter(String owner) {
        Turn turn = new Turn();
        synchronized (this) {
            if (running < max) {
                running++;
                return;
            }
            waiting.computeIfAbsent(owner, any -> new ArrayDeque<>()).add(turn);
        }
        boolean interrupted = false;
        while (!turn.come) { // each piece takes some 50 µs, so it comes soon
            LockSupport.park(this);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void leave() {
        Turn next;
        synchronized (this) {
            next = next();
            if (next == null) {
                running--;
                return;
            }
            next.come = true;
        }
        LockSupport.unpark(next.thread);
    }

    /** The next thread; its owner is the last one in the order then. */
    @GuardedBy("this")
    private @Nullable Turn next() {
        Iterator<Map.Entry<String, ArrayDeque<Turn>>> owners =
                waiting.entrySet().iterator();
        if (!owners.hasNext()) {
            return null;
        }
        Map.Entry<String, ArrayDeque<Turn>> first = owners.next();
        String owner = first.getKey();
        ArrayDeque<Turn> its = first.getValue();
        Turn turn = its.remove();
        owners.remove();
        if (!its.isEmpty()) {
            waiting.put(owner, its);
        }
        return turn;
    }
}
