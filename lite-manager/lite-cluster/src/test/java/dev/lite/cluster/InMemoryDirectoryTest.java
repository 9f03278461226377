package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class InMemoryDirectoryTest extends ClusterDirectoryContract {
    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final List<InMemoryDirectory> sessions = new ArrayList<>();

    @Override
    synchronized ClusterDirectory openSession() {
        InMemoryDirectory session = store.open();
        sessions.add(session);
        return session;
    }

    @Override
    public void stopDirectory() {
        sessions.forEach(session -> session.setAvailable(false));
    }

    @Override
    public void startDirectory() {
        sessions.forEach(session -> session.setAvailable(true));
    }

    @Override
    public void expire(ClusterDirectory session) {
        ((InMemoryDirectory) session).expireSession();
    }

    @Override
    Runnable startKeeper() {
        store.setKeeper(true);
        return () -> store.setKeeper(false);
    }

    @BeforeEach
    void stopTheStoresOwnKeeper() {
        store.setKeeper(false);
    }

    @Test
    void aNameTakenByAnotherNodeDuringALongOutageIsReported() {
        InMemoryDirectory one = (InMemoryDirectory) open();
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        one.register(advert("a"), DEADLINE);
        one.setAvailable(false);
        one.expireSession();
        NodeRecord successor = open().register(advert("a"), DEADLINE);

        one.setAvailable(true);

        Waits.until("it is reported", () -> !recorded.refused.isEmpty());
        assertThat(recorded.refused.getFirst()).contains("\"a\"").contains("host-of-a");
        assertThat(one.nodesNow(DEADLINE)).containsExactly(successor);
    }

    @Test
    void aListenerIsNotNotifiedThatAnEarlierRegistrationWasRefused() {
        InMemoryDirectory one = (InMemoryDirectory) open();
        RecordingListener early = new RecordingListener();
        one.addListener(early);
        one.register(advert("a"), DEADLINE);
        one.setAvailable(false);
        one.expireSession();
        open().register(advert("a"), DEADLINE);
        one.setAvailable(true);
        Waits.until("it is reported", () -> !early.refused.isEmpty());

        one.register(advert("b"), DEADLINE);
        RecordingListener late = new RecordingListener();
        one.addListener(late);
        one.setAvailable(false);

        Waits.until("the listener was added", () -> late.availability.equals(List.of(false)));
        assertThat(late.refused).isEmpty();
    }
}
