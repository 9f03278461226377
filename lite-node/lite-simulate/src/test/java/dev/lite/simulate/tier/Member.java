package dev.lite.simulate.tier;

import dev.lite.api.LiteException;
import dev.lite.cluster.SimulatedDirectory;
import dev.lite.simulate.engine.SimulatedProcess;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.node.LiteNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A node by its name: a process after the other, with the same arena. */
public final class Member {
    /** Where it stands. */
    public enum State {
        /** No process. */
        DOWN,
        /** A process that joins the cluster. */
        STARTING,
        /** A process with a node. */
        UP
    }

    private static final long START_RETRY_NS = 20_000_000;
    private static final double LOSS_FAILURES = 0.3;

    private final Cluster cluster;
    private final String name;
    private State state = State.DOWN;
    private SimulatedProcess process;
    private @Nullable LiteNode node;
    private @Nullable SimulatedDirectory directory;
    private int processes;

    Member(Cluster cluster, String name) {
        this.cluster = cluster;
        this.name = name;
        this.process = new SimulatedProcess(name);
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Where it stands. */
    public State state() {
        return state;
    }

    /** The current or last process. */
    public SimulatedProcess process() {
        return process;
    }

    /** How many processes it had. */
    public int processes() {
        return processes;
    }

    /** The node of the current process. */
    public LiteNode node() {
        LiteNode running = node;
        if (running == null) {
            throw new IllegalStateException("node " + name + " does not run");
        }
        return running;
    }

    /** Whether the process runs, lost its registration and has not rejoined yet. */
    boolean isRegistrationLost() {
        LiteNode running = node;
        return running != null && (boolean) Internals.get(Internals.get(running, "fencing"), "lost");
    }

    /** The current process's client of the directory; null while there is none. */
    public @Nullable SimulatedDirectory directory() {
        return directory;
    }

    /** Starts a process. It is UP when it has joined. */
    public void start() {
        if (state != State.DOWN) {
            throw new IllegalStateException("node " + name + " runs already");
        }
        state = State.STARTING;
        process = new SimulatedProcess(name + "." + ++processes);
        cluster.simulation().note(process + " starts");
        cluster.simulation().start(process, "main", this::join);
    }

    private void join() {
        while (true) {
            SimulatedDirectory opened = new SimulatedDirectory(cluster.store(), name);
            directory = opened;
            opened.setLossFailureRate(cluster.shape().mix() == Mix.SESSIONS ? LOSS_FAILURES : 0);
            try {
                LiteNode started = LiteNode.start(
                        cluster.config(name), opened, List.of(cluster.network().provider()));
                started.setOrphanGrace(Cluster.ORPHAN_GRACE);
                node = started;
                state = State.UP;
                cluster.simulation().note("is up");
                cluster.started(this);
                return;
            } catch (LiteException e) {
                cluster.simulation().note("cannot join yet: " + e.getMessage());
                opened.close();
                Pause.ns(cluster.simulation(), START_RETRY_NS);
            }
        }
    }

    /**
     * Kills the process between two steps. Its peers hear of it after a while; then the operating system takes back its memory,
     * and it may be started again.
     */
    public void kill(long noticedAfterNs) {
        if (state != State.UP) {
            return;
        }
        cluster.simulation().note(process + " is killed");
        LiteNode dead = node();
        process.kill();
        cluster.network().pause(name);
        if (directory != null) {
            directory.abandon();
        }
        node = null;
        directory = null;
        state = State.STARTING;
        cluster.simulation().after(noticedAfterNs, () -> {
            cluster.network().vanish(name);
            ((NodeArena) Internals.get(dead, "arena")).close();
            state = State.DOWN;
        });
    }

    /** The history ends here: nothing runs any more. */
    void abandon() {
        process.kill();
        LiteNode left = node;
        if (left != null) {
            ((NodeArena) Internals.get(left, "arena")).close();
        }
    }

    /** Shuts down cleanly. Blocks. */
    public void stop() {
        cluster.simulation().note("stops " + process);
        node().close();
        if (directory != null) {
            directory.close();
        }
        node = null;
        directory = null;
        state = State.DOWN;
    }
}
