package dev.lite.tier.sync;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.sync.WordStore.Kind;
import dev.lite.tier.sync.WordStore.Named;
import java.util.function.IntPredicate;
import java.util.function.ToLongBiFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens living words by their names. Any thread; blocks.
 *
 * <p>First the word is mapped, then its home is asked for its value. So the home has the word's memory at a moment when it
 * is mapped here, and frees it only after this node has ended the mapping. A dead word is opened again until its home has
 * removed its record.
 */
final class Opening {
    private static final Logger log = LoggerFactory.getLogger(Opening.class);
    private static final long PAUSE_NS = 5_000_000;

    private final WordStore words;
    private final IntPredicate isConnected;
    private final ToLongBiFunction<Named, Deadline> home;
    private final Room room;

    /** Removes unused words when the arena is full. */
    interface Room {
        /** Starts to remove all of them. Does not block. */
        void make();

        /** Whether that is still under way. */
        boolean isBeingMade();
    }

    /**
     * @param isConnected {@link ClusterView#isConnected}
     * @param home {@link SyncCalls#open}
     */
    Opening(WordStore words, IntPredicate isConnected, ToLongBiFunction<Named, Deadline> home, Room room) {
        this.words = words;
        this.isConnected = isConnected;
        this.home = home;
        this.room = room;
    }

    /**
     * Opens the word with this name; {@link WordStore#giveBack} must follow.
     *
     * @throws LiteTimeoutException if the name has only a dead word until the deadline
     * @throws LmrUnavailableException if the word's home is lost, is away until the deadline, or restarted without the
     *     word's arena
     * @throws LimitExceededException if the name is new, and the arena is full of other things than unused words
     */
    SyncWord open(Kind kind, String name, Deadline deadline) {
        NodeUnreachableException unreachable = null;
        while (true) {
            SyncWord word = openMakingRoom(kind, name, deadline);
            boolean alive = false;
            try {
                alive = isAlive(kind, name, word, deadline);
                if (alive) {
                    return word;
                }
                unreachable = null;
            } catch (LmrFreedException e) {
                unreachable = null;
                log.debug("the word of {} was removed meanwhile", name);
            } catch (NodeUnreachableException e) {
                unreachable = e; // its home moves or restarts
            } finally {
                if (!alive) {
                    giveBack(word);
                }
            }
            pause(name, unreachable, deadline);
        }
    }

    private SyncWord openMakingRoom(Kind kind, String name, Deadline deadline) {
        try {
            return words.open(kind, name, deadline);
        } catch (LimitExceededException e) {
            room.make();
        }
        while (true) {
            boolean last = !room.isBeingMade() || deadline.passed();
            try {
                return words.open(kind, name, deadline);
            } catch (LimitExceededException e) {
                if (last) {
                    throw e;
                }
            }
            Polling.sleepNs(PAUSE_NS);
        }
    }

    private void giveBack(SyncWord word) {
        try {
            words.giveBack(word);
        } catch (LiteTimeoutException e) {
            log.info("the word {} stays mapped until the node stops: {}", word.ref(), e.getMessage());
        }
    }

    /** Pauses before the next attempt. Throws what keeps the name from being opened when the deadline has passed. */
    static void pause(String name, @Nullable NodeUnreachableException unreachable, Deadline deadline) {
        if (deadline.passed()) {
            throw unreachable != null
                    ? new LmrUnavailableException(
                            "the node that stores \"%s\" is away: %s".formatted(name, unreachable.getMessage()),
                            unreachable)
                    : new LiteTimeoutException(deadline.expired(
                            "opening \"%s\": its home removes the former word of this name".formatted(name)));
        }
        Polling.sleepNs(PAUSE_NS);
    }

    private boolean isAlive(Kind kind, String name, SyncWord word, Deadline deadline) {
        requireConnected(word, deadline);
        long value = home.applyAsLong(new Named(kind, name, word.ref()), deadline);
        if (kind == Kind.LOCK && value == LockWord.UNBORN) {
            long floor = words.ticketFloor(deadline); // after its record was found; see LockWord
            long before = word.testSet(LockWord.UNBORN, LockWord.free(floor), deadline);
            return !LockWord.isDead(before);
        }
        word.opened(value);
        return value >= 0;
    }

    /** Waits for a home that is not connected as every operation on its memory does: not longer than it may return. */
    private void requireConnected(SyncWord word, Deadline deadline) {
        if (isConnected.test(word.ref().home())) {
            return;
        }
        long unused = word.fetchAdd(0, deadline); // throws if the home is lost
        int node = word.ref().home(); // the word may have moved
        if (!isConnected.test(node)) {
            throw new NodeUnreachableException(
                    "node %s is not connected".formatted(word.mapping().owner().nodeName(node)));
        }
    }
}
