package dev.lite.tier.rpc;

import dev.lite.api.LiteException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.peer.Peer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the calls whose callers have stopped waiting, so that their slots come back although nobody answers them. It asks
 * the server's node to cancel them. A call that is cancelled is not given to a server any more, and its late reply is
 * dropped; a reply that is already on its way comes, and returns the slot itself. Any thread.
 *
 * <p>The request may overtake the call. So a call that the server's node does not know is asked for again, with growing
 * pauses, as long as its slot is in quarantine.
 *
 * <p>Limit: one virtual thread and one request per node.
 */
final class RpcCancels {
    /** Calls in one request. */
    static final int CALLS_MAX = 64;

    private static final Logger log = LoggerFactory.getLogger(RpcCancels.class);
    private static final long PAUSE_NS_MIN = 1_000_000;
    private static final long PAUSE_NS_MAX = 1_000_000_000;
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final RpcEngine engine;
    private final RpcSlots slots;
    private final CancelRequest request;
    private final Map<Integer, Sweeper> sweepers = new ConcurrentHashMap<>();

    /**
     * A call whose slot is in quarantine.
     *
     * @param peer the server's node; null: this node itself
     * @param ring the ring's number there
     * @param place in bytes from the start of the ring
     */
    record Abandoned(RpcSlot slot, @Nullable Peer peer, int ring, int place, long callId) {}

    /** Asks a node to cancel calls. */
    interface CancelRequest {
        /** Returns for each call whether no reply is or will be on its way. */
        boolean[] ask(Peer peer, List<Abandoned> calls, Deadline deadline);
    }

    RpcCancels(RpcEngine engine, RpcSlots slots, CancelRequest request) {
        this.engine = engine;
        this.slots = slots;
        this.request = request;
    }

    /** A call to this node was abandoned. Neither blocks nor throws: the caller of this method must still end the call. */
    void abandoned(int node) {
        sweepers.computeIfAbsent(node, Sweeper::new).wake();
    }

    /** Cancels the calls to one node. */
    private final class Sweeper implements Runnable {
        private final int node;
        private final AtomicBoolean running = new AtomicBoolean();
        private volatile boolean wanted;
        private volatile @Nullable Thread thread;

        Sweeper(int node) {
            this.node = node;
        }

        void wake() {
            wanted = true;
            if (!running.compareAndSet(false, true)) {
                LockSupport.unpark(thread);
                return;
            }
            try {
                engine.execute(this);
            } catch (RuntimeException | Error e) { // no memory for a thread: the next such call tries again
                running.set(false);
                Unrecoverable.report(e);
                log.warn("cannot cancel calls to node {} yet", node, e);
            }
        }

        @Override
        public void run() {
            thread = Thread.currentThread();
            long pauseNs = PAUSE_NS_MIN;
            while (!Thread.currentThread().isInterrupted()) { // the end of the node interrupts
                wanted = false;
                if (sweepOrTryAgain()) {
                    Polling.sleepNs(pauseNs);
                    pauseNs = wanted ? PAUSE_NS_MIN : Math.min(2 * pauseNs, PAUSE_NS_MAX);
                } else if (!wanted) {
                    running.set(false);
                    // After that: either this thread sees wanted, or the one that set it sees that none runs.
                    if (!wanted || !running.compareAndSet(false, true)) {
                        return;
                    }
                }
            }
        }

        /** {@link #sweep}, after whose failure calls may remain: without this thread, their slots would never be free again. */
        private boolean sweepOrTryAgain() {
            try {
                return sweep();
            } catch (RuntimeException | Error e) { // for example no memory
                Unrecoverable.report(e);
                log.warn("cancelling calls to node {} failed; trying again", node, e);
                return true;
            }
        }

        /** Returns whether calls remain that must be cancelled later. */
        private boolean sweep() {
            Peer peer = engine.connected(node);
            if (peer == null && !engine.isSelf(node)) {
                return false; // the end of the connection returned the slots
            }
            List<Abandoned> all = slots.abandoned(peer);
            boolean remain = false;
            for (int from = 0; from < all.size(); from += CALLS_MAX) {
                List<Abandoned> batch = new ArrayList<>(all.subList(from, Math.min(from + CALLS_MAX, all.size())));
                boolean[] over = ask(batch);
                for (int i = 0; i < batch.size(); i++) {
                    if (over[i]) {
                        end(batch.get(i));
                    } else {
                        remain = true;
                    }
                }
            }
            return remain;
        }

        private boolean[] ask(List<Abandoned> batch) {
            Peer peer = batch.getFirst().peer();
            boolean[] over = new boolean[batch.size()];
            if (peer == null) {
                for (int i = 0; i < over.length; i++) {
                    over[i] = engine.cancelOwn(batch.get(i));
                }
                return over;
            }
            try {
                return request.ask(peer, batch, Deadline.in(TIMEOUT));
            } catch (LiteException e) {
                log.debug("cannot cancel calls to node {} yet", peer.hello().node(), e);
                return over;
            }
        }
    }

    private static void end(Abandoned call) {
        RpcSlot slot = call.slot();
        // While its connection lasts, only this or the call's reply returns the slot, and no reply comes.
        if (slot.changeOf(call.callId(), RpcSlot.ABANDONED, RpcSlot.OWNED)) {
            slot.giveBack();
        }
    }
}
