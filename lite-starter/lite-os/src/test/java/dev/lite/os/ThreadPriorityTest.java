package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ThreadPriorityTest {
    /** The field of {@code /proc/.../stat} after the command, which may contain blanks. */
    private static final int NICE = 16;

    private static int nice() {
        try {
            String stat = Files.readString(Path.of("/proc/thread-self/stat"));
            return Integer.parseInt(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[NICE]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void onlyTheCallingThreadIsLowered() {
        int before = nice();
        AtomicReference<Integer> lowered = new AtomicReference<>();
        Waits.join(Thread.ofPlatform().start(() -> {
            ThreadPriority.lower(15);
            lowered.set(nice());
        }));
        assertThat(lowered).hasValue(15);
        assertThat(nice()).isEqualTo(before);
    }

    @Test
    void virtualThreadsAndOtherNumbersAreRefused() {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Waits.join(Thread.ofVirtual().start(() -> {
            try {
                ThreadPriority.lower(1);
            } catch (IllegalStateException refused) {
                thrown.set(refused);
            }
        }));
        assertThat(thrown.get()).hasMessageContaining("virtual");
        assertThatThrownBy(() -> ThreadPriority.lower(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> ThreadPriority.lower(20)).isInstanceOf(IllegalArgumentException.class);
    }
}
