package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.ibm.disni.verbs.impl.FakeConnectionManager;
import dev.lite.fabric.rdma.verbs.TestVerbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The manager's thread, without a device. Without that thread no connection could be made, and none would end. */
@Isolated("it finds a descriptor among those of its process")
class ConnectionManagerTest {
    private final List<String> seen = new CopyOnWriteArrayList<>();
    private Channel channel;
    private FakeConnectionManager calls;
    private ConnectionManager manager;

    @BeforeEach
    void open() throws IOException {
        channel = Channel.open();
        calls = channel.calls();
        manager = newManager();
        manager.start();
    }

    private ConnectionManager newManager() {
        return new ConnectionManager(
                "alpha",
                TestVerbs.of(calls),
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                this::requested);
    }

    @AfterEach
    void close() throws IOException {
        if (manager != null) {
            manager.stop();
            manager.close();
            channel.close();
        }
    }

    private void requested(ConnectionManager.Id id) {
        seen.add("request " + id.handle());
        if (id.handle() == 100) {
            throw new IllegalStateException("a defect");
        }
    }

    /** An application may try to start its node again and again. */
    @Test
    void aManagerThatCannotBeMadeLeavesNoDescriptor() throws IOException {
        calls.bindFails = true;
        long before = descriptors();
        assertThatExceptionOfType(VerbsException.class).isThrownBy(this::newManager);
        assertThat(descriptors()).as("after a failed bind").isEqualTo(before);
        calls.channelFails = true;
        assertThatExceptionOfType(VerbsException.class).isThrownBy(this::newManager);
        assertThat(descriptors()).as("without a channel").isEqualTo(before);
    }

    private static long descriptors() throws IOException {
        try (var all = Files.list(Path.of("/proc/self/fd"))) {
            return all.count();
        }
    }

    @Test
    void aTaskThatFailsDoesNotEndTheThread() {
        manager.execute(() -> {
            throw new IllegalStateException("a defect");
        });
        manager.execute(() -> seen.add("next"));
        Waits.until("the next task has run", () -> seen.contains("next"));
    }

    @Test
    void aPeerThatCannotBeAcceptedDoesNotEndTheThread() {
        calls.requests.addAll(List.of(100L, 101L));
        manager.execute(() -> seen.add("woken"));
        Waits.until("the next peer was accepted", () -> seen.contains("request 101"));
        Waits.until("the task has run", () -> seen.contains("woken"));
    }

    /** Its peer would wait for an answer, and each attempt would keep an id. */
    @Test
    void aPeerThatCannotBeAcceptedIsRejected() {
        calls.requests.addAll(List.of(100L, 101L));
        manager.execute(() -> seen.add("woken"));
        Waits.until("the next peer was accepted", () -> seen.contains("request 101"));
        Waits.until("the first one was rejected", () -> !calls.open.contains("id 100"));
        assertThat(calls.open).contains("id 101");
    }
}
