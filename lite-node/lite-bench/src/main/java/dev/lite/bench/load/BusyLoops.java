package dev.lite.bench.load;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Another process with threads that never wait, or no process for no threads. Used by one thread. */
public final class BusyLoops implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(20);

    private final int threads;
    private final @Nullable ChildProcess process;

    /** Starts so many threads. */
    public BusyLoops(int threads) {
        this.threads = threads;
        if (threads == 0) {
            process = null;
        } else {
            process =
                    ChildProcess.java("the busy loops", List.of(), BusyLoops.class, List.of(Integer.toString(threads)));
            process.answer(START);
        }
    }

    /** The number of threads. */
    public int threads() {
        return threads;
    }

    /**
     * The other process. Runs until its input ends.
     *
     * @param arguments the number of threads
     */
    public static void main(String[] arguments) throws IOException {
        for (int i = Integer.parseInt(arguments[0]); i > 0; i--) {
            Thread.ofPlatform().daemon().name("busy-" + i).start(() -> {
                while (true) {
                    Thread.onSpinWait();
                }
            });
        }
        System.out.println(PartyMain.OK);
        int end = System.in.read();
        assert end < 0;
    }

    @Override
    public void close() {
        if (process != null) {
            process.close();
        }
    }
}
