package dev.lite.cluster;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** One manager's part in the election. It hears late of changes, so two managers may believe that they lead. */
final class SimulatedLeadership implements Leadership {
    private final SimulatedStore store;
    private final SimulatedNet.Line line;
    private final String process;
    private final List<Consumer<Boolean>> listeners = new ArrayList<>();
    private boolean believes;
    private boolean closed;
    private long heardNs;

    /** @param line of its process */
    SimulatedLeadership(SimulatedStore store, SimulatedNet.Line line, String process) {
        this.store = store;
        this.line = line;
        this.process = process;
        store.stand(this);
    }

    void leaderChanged() {
        heardNs = Math.max(heardNs, store.net.simulation().nowNs() + store.net.newsNs());
        store.net.simulation().at(heardNs, () -> {
            if (!closed && believes != store.leads(this)) {
                believes = !believes;
                store.net.simulation().note(process + (believes ? " leads" : " leads no longer"));
                listeners.forEach(listener -> listener.accept(believes));
            }
        });
    }

    @Override
    public boolean isLeader() {
        return believes && !closed;
    }

    @Override
    public boolean isLeaderNow(Duration deadline) {
        return store.net.call(
                line, process + " asks whether it leads", deadline, () -> !closed, () -> store.leads(this));
    }

    @Override
    public void addListener(Consumer<Boolean> listener) {
        listeners.add(listener);
    }

    @Override
    public List<String> participants() {
        return List.of();
    }

    @Override
    public void addParticipantsListener(Consumer<List<String>> listener) {}

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            store.standDown(this);
        }
    }
}
