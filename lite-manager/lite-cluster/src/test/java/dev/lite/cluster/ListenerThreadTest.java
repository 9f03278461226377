package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ListenerThreadTest {
    @Test
    void aTaskThatThrowsDoesNotEndTheThread() {
        try (ListenerThread listeners = new ListenerThread("lite-directory-test")) {
            CompletableFuture<Thread> before = new CompletableFuture<>();
            CompletableFuture<Thread> after = new CompletableFuture<>();

            listeners.execute(() -> before.complete(Thread.currentThread()));
            listeners.execute(() -> {
                throw new IllegalStateException("thrown by a test");
            });
            listeners.execute(() -> after.complete(Thread.currentThread()));

            Waits.until("the last task ran", after::isDone);
            assertThat(after.join()).isSameAs(before.join());
        }
    }

    /** The process must stop acting as the node, also if it was paused while it started. */
    @Test
    void aListenerThatIsAddedAfterTheRegistrationWasRefusedIsNotifiedOfIt() {
        try (ListenerThread listeners = new ListenerThread("lite-directory-test")) {
            RecordingListener late = new RecordingListener();
            listeners.notifyOfRegistration(listener -> listener.registrationRefused("the name is taken"));

            listeners.add(late, added -> {});

            Waits.until("the listener is notified", () -> late.refused.equals(List.of("the name is taken")));
        }
    }
}
