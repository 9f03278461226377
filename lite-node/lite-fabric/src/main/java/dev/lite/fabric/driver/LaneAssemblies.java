package dev.lite.fabric.driver;

import dev.lite.fabric.FabricKeys;
import dev.lite.os.waiting.Deadline;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Accepted connections that still wait for lanes. Each lane makes its own handshake, in which it names its connection's number. Any
 * thread.
 *
 * <p>Bound: one assembly for each thread in {@link Assembly#awaitOthers}, each with the agreed number of lanes.
 *
 * @param <L> a lane
 */
public final class LaneAssemblies<L> {
    private final Map<Identity, Assembly> assemblies = new HashMap<>(); // guarded by this
    private boolean closed; // guarded by this

    /** The connection's number. */
    private record Identity(long high, long low) {
        static Identity of(LaneHandshake.Claim claim) {
            return new Identity(claim.high(), claim.low());
        }
    }

    /** One connection that waits for lanes. The thread that started it calls {@link #end}, also after a failure. */
    public final class Assembly {
        private final Identity number;
        private final byte[] hello;
        private final @Nullable Object[] lanes; // guarded by the assemblies
        private final CountDownLatch missing;

        private Assembly(LaneHandshake.Claim claim, int count, L first) {
            number = Identity.of(claim);
            hello = claim.hello();
            lanes = new @Nullable Object[count];
            lanes[0] = first;
            missing = new CountDownLatch(count - 1);
        }

        /**
         * Waits for the other lanes.
         *
         * @param deadline of the whole handshake
         * @return all lanes, in order; null when {@link #giveUp} ended the wait
         * @throws HandshakeException if one is missing at the deadline, or the thread was interrupted
         */
        public @Nullable List<L> awaitOthers(Deadline deadline) {
            try {
                if (!missing.await(deadline.remainingNs(), TimeUnit.NANOSECONDS)) {
                    throw new HandshakeException(
                            "%d of its %d lanes did not arrive in time".formatted(missing.getCount(), lanes.length));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new HandshakeException("interrupted", e);
            }
            List<L> all = present(0);
            return all.size() == lanes.length ? all : null;
        }

        /** Ends the wait, because the first lane broke or the fabric closes. */
        public void giveUp() {
            for (int i = 1; i < lanes.length; i++) {
                missing.countDown();
            }
        }

        /** Accepts no more lanes. Returns those that arrived after the first; the caller owns them. */
        public List<L> end() {
            synchronized (LaneAssemblies.this) {
                assemblies.remove(number, this);
                return present(1);
            }
        }

        private List<L> present(int from) {
            synchronized (LaneAssemblies.this) {
                List<L> present = new ArrayList<>();
                for (int i = from; i < lanes.length; i++) {
                    if (lanes[i] != null) {
                        @SuppressWarnings("unchecked") // only lanes are put in
                        L lane = (L) Objects.requireNonNull(lanes[i]);
                        present.add(lane);
                    }
                }
                return present;
            }
        }
    }

    /**
     * Starts an assembly with its first lane.
     *
     * @param lanes the number of lanes it will have
     * @throws HandshakeException if another connection being made has this number, or {@link #giveUpAll} was called
     */
    public Assembly begin(LaneHandshake.Claim claim, int lanes, L first) {
        Assembly assembly = new Assembly(claim, lanes, first);
        synchronized (this) {
            if (closed) {
                throw new HandshakeException("this node closed the fabric");
            }
            if (assemblies.putIfAbsent(assembly.number, assembly) != null) {
                throw new HandshakeException("its connection has the number of another connection");
            }
        }
        return assembly;
    }

    /**
     * Accepts a further lane, which then belongs to its assembly, or refuses it.
     *
     * @param agreed receives the keys of the lane; null if it has none
     * @return false if its assembly ended meanwhile; then the caller still owns the lane
     * @throws HandshakeException if no connection waits for it
     */
    public boolean add(
            L lane, LaneHandshake.Accepted accepted, Consumer<@Nullable FabricKeys> agreed, Deadline deadline) {
        LaneHandshake.Claim claim = accepted.claim();
        Assembly assembly = waitingFor(claim);
        if (assembly == null) {
            accepted.refuse("no connection waits for this lane", deadline);
            throw new HandshakeException("no connection waits for its lane %d".formatted(claim.lane()));
        }
        accepted.welcome(assembly.lanes.length, deadline);
        agreed.accept(accepted.keys());
        synchronized (this) {
            // Check again, because sending the answer took time.
            if (waitingFor(claim) != assembly) {
                return false;
            }
            assembly.lanes[claim.lane()] = lane;
        }
        assembly.missing.countDown();
        return true;
    }

    /** Ends every wait, and refuses new ones, because the fabric closes. */
    public void giveUpAll() {
        List<Assembly> waiting;
        synchronized (this) {
            closed = true;
            waiting = List.copyOf(assemblies.values());
        }
        waiting.forEach(Assembly::giveUp);
    }

    private synchronized @Nullable Assembly waitingFor(LaneHandshake.Claim claim) {
        Assembly assembly = assemblies.get(Identity.of(claim));
        // The number is no secret. A lane of another node, with its own key, must not carry this node's requests.
        boolean waits = assembly != null
                && Arrays.equals(assembly.hello, claim.hello())
                && claim.lane() < assembly.lanes.length
                && assembly.lanes[claim.lane()] == null;
        return waits ? assembly : null;
    }
}
