package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.TestVerbs;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import java.io.IOException;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Needs no device: the native calls refuse a queue whose handle is 0, as those of a failed device do. */
@Isolated("it finds a descriptor among those of its process")
class CompletionsTest {

    /** Else a thread that closes an endpoint would leave it half closed, with its queue pair. */
    @Test
    void onlyThePollRoleLearnsThatTheDeviceFailed() {
        NativeBuild.requireLibrary();
        var queue = new Completions(Verbs.load(), 0, 64, new Lanes(1));
        assertThatCode(queue::keep).doesNotThrowAnyException();
        try (var arena = Arena.ofConfined()) {
            long place = arena.allocate((long) Completions.BATCH * Completion.BYTES, Long.BYTES)
                    .address();
            assertThatExceptionOfType(VerbsException.class).isThrownBy(() -> queue.take(place));
        }
    }

    /** The device would write completions to address 0. */
    @Test
    void completionsAreTakenOnlyIntoMemoryThatIsThere() throws IOException {
        try (var channel = Channel.open()) {
            var calls = channel.calls();
            // More room than there is.
            var queue = new Completions(TestVerbs.of(calls), 1, Integer.MAX_VALUE, new Lanes(1));
            for (int attempt = 0; attempt < 2; attempt++) {
                assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(queue::keep);
            }
            assertThat(calls.polls).isEmpty();
        }
    }
}
