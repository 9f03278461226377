package dev.lite.cluster;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A manager process: the real keeper of epochs over a simulated directory. */
public final class SimulatedManager implements AutoCloseable {
    private final SimulatedStore store;
    private final String process;
    private final SimulatedDirectory directory;
    private final SimulatedLeadership leadership;
    private final EpochKeeperThread keeper;
    private boolean closed;

    /** Starts it on the calling thread's process. */
    public SimulatedManager(SimulatedStore store, String process) {
        this.store = store;
        this.process = process;
        this.directory = new SimulatedDirectory(store, process);
        this.leadership = new SimulatedLeadership(store, directory.line(), process);
        this.keeper = EpochKeeperThread.start(new Epochs(), directory, leadership, call -> 0);
    }

    /** The process was killed: another manager leads after a while. */
    public void abandon() {
        closed = true;
        directory.abandon();
        store.net
                .simulation()
                .after(
                        SimulatedDirectory.SESSION_TIMEOUT_NS / 2
                                + store.net.random().nextLong(SimulatedDirectory.SESSION_TIMEOUT_NS),
                        leadership::close);
    }

    @Override
    public void close() {
        closed = true;
        keeper.close();
        leadership.close();
        directory.close();
    }

    /** Each part is read by a request of its own. */
    private final class Epochs implements EpochStore {
        private record Read(Epoch epoch, int version) {}

        private <T> T call(String what, Duration deadline, java.util.function.Supplier<T> request) {
            return store.net.call(directory.line(), process + " " + what, deadline, () -> !closed, request);
        }

        @Override
        public Snapshot snapshot(Duration deadline) {
            Read read = call("reads the epoch", deadline, () -> new Read(store.epoch(), store.epochVersion()));
            List<Known> known = call("reads the ids", deadline, store::known);
            List<NodeRecord> live = call("reads the nodes", deadline, store::nodes);
            Map<Integer, Ack> acks = call("reads the acknowledgements", deadline, store::acks);
            return new Snapshot(read.epoch(), read.version(), known, live, acks);
        }

        @Override
        public boolean replace(Snapshot seen, Epoch next, Duration deadline) {
            return call("changes the epoch", deadline, () -> store.replaceEpoch(seen.version(), next));
        }
    }
}
