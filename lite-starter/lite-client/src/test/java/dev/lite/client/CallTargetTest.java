package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.client.fake.FakeNode;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CallTargetTest {
    @Test
    void aCallAsksForAChannelAlthoughThereWasNoMemoryForTheThreadThatAskedBefore(@TempDir Path directory)
            throws IOException {
        AtomicBoolean noMemory = new AtomicBoolean(true);
        Executor threads = task -> {
            if (noMemory.get()) {
                throw new OutOfMemoryError("as the test wants");
            }
            Thread.ofVirtual().start(task);
        };
        try (FakeNode node = new FakeNode(directory.resolve("node.sock"))) {
            Session session = Attacher.attach(
                    AttachOptions.to(node.socket(), "test").withDeadline(LONG),
                    ClientConfig.fromSystemProperties(),
                    new ClientCounts(),
                    Deadline.in(LONG));
            CallTarget target = new CallTarget(session, 1, "n", "call of \"f\"", true, threads);
            assertThatThrownBy(() -> target.channelFor(1)).isInstanceOf(OutOfMemoryError.class);
            noMemory.set(false);
            assertThat(target.channelFor(1)).isNull();
            assertThat(node.awaitRequest(ChannelOpen.class).client()).isEqualTo(1);
            session.detach();
        }
    }
}
