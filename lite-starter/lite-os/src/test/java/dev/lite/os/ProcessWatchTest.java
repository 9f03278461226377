package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.lite.testing.Waits;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class ProcessWatchTest {

    @Test
    void theEndOfAKilledChildIsDetected() {
        try (var child = ChildJvm.start(WaitsForInput.class);
                var watch = ProcessWatch.open(child.pid())) {
            assertThat(child.line()).isEqualTo("ready");
            assertThat(watch.isAlive()).isTrue();
            long start = System.nanoTime();
            assertThat(watch.awaitExit(20_000_000)).isFalse();
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(20_000_000);
            child.kill();
            assertThat(watch.awaitExit(Waits.seconds(20).toNanos())).isTrue();
            assertThat(watch.isAlive()).isFalse();
        }
    }

    @Test
    void aMissingProcessIsReportedWithItsId() {
        // One above the highest process id that Linux assigns.
        var refused = catchThrowableOfType(OsException.class, () -> ProcessWatch.open(1 << 22));
        assertThat(refused.errno()).isEqualTo(Errno.ESRCH);
        assertThat(refused).hasMessageContaining("pidfd_open(4194304)");
    }

    @Test
    void aClosedWatchThrows() {
        var watch = ProcessWatch.open(Math.toIntExact(ProcessHandle.current().pid()));
        watch.close();
        watch.close();
        assertThat(catchThrowableOfType(OsException.class, watch::isAlive).errno())
                .isEqualTo(Errno.EBADF);
    }

    /** The other process: runs until it is killed. */
    static final class WaitsForInput {
        private WaitsForInput() {}

        public static void main(String[] arguments) throws IOException {
            System.out.println("ready");
            int unused = System.in.read();
        }
    }
}
