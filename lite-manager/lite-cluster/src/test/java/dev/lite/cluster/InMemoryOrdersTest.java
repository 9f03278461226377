package dev.lite.cluster;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

class InMemoryOrdersTest extends OrdersContract {
    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final List<InMemoryDirectory> sessions = new CopyOnWriteArrayList<>();

    @Override
    ClusterDirectory openSession() {
        InMemoryDirectory session = store.open();
        sessions.add(session);
        return session;
    }

    @Override
    void stopDirectory() {
        sessions.forEach(session -> session.setAvailable(false));
    }

    @Override
    void startDirectory() {
        sessions.forEach(session -> session.setAvailable(true));
    }
}
