package dev.lite.cluster;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Records its notifications. */
final class RecordingListener implements DirectoryListener {
    final List<List<String>> nodes = new CopyOnWriteArrayList<>();
    final List<Boolean> availability = new CopyOnWriteArrayList<>();
    final List<String> lostAndFound = new CopyOnWriteArrayList<>();
    final List<NodeRecord> registeredAgain = new CopyOnWriteArrayList<>();
    final List<Epoch> epochs = new CopyOnWriteArrayList<>();
    final List<String> refused = new CopyOnWriteArrayList<>();

    List<String> lastNodes() {
        return nodes.isEmpty() ? List.of("not notified yet") : nodes.getLast();
    }

    @Override
    public void nodesChanged(List<NodeRecord> changed) {
        nodes.add(changed.stream().map(NodeRecord::name).toList());
    }

    @Override
    public void epochChanged(Epoch epoch) {
        epochs.add(epoch);
    }

    @Override
    public void availabilityChanged(boolean available) {
        availability.add(available);
    }

    @Override
    public void registrationLost() {
        lostAndFound.add("lost");
    }

    @Override
    public void registeredAgain(NodeRecord registration) {
        lostAndFound.add("found");
        registeredAgain.add(registration);
    }

    @Override
    public void registrationRefused(String reason) {
        refused.add(reason);
    }
}
