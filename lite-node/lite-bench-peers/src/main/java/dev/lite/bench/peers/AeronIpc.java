package dev.lite.bench.peers;

import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Aeron over shared memory, with its media driver in the serving process. Each caller has a publication and a subscription of
 * its own. One thread serves all callers. All threads wait with Agrona's back-off strategy; {@link SpinningAeronIpc} is the
 * form that does not sleep.
 */
public class AeronIpc implements Contender {
    private static final String CHANNEL = "aeron:ipc?term-length=1m";
    private static final int REQUESTS = 1000;
    private static final int REPLIES = 2000;
    /** Streams for replies: one for each thread of each workload. */
    private static final int CALLERS_MAX = 256;

    private static final int FRAGMENTS = 16;
    private static final int HEADER_BYTES = Long.BYTES;

    @Override
    public String name() {
        return "Aeron IPC";
    }

    /** How a caller and the serving thread wait; a new one for each thread. */
    IdleStrategy idleStrategy() {
        return new BackoffIdleStrategy();
    }

    @Override
    public List<String> jvmOptions() {
        return List.of(
                "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED");
    }

    @Override
    public Backing start(Path place, Supplier<String> zooKeeper) {
        String directory = place.resolve("driver").toString();
        return new Backing() {
            @Override
            public List<String> serverArguments() {
                return List.of(directory);
            }

            @Override
            public List<String> callerArguments() {
                return List.of(directory);
            }
        };
    }

    @Override
    public Server openServer(List<String> arguments) {
        MediaDriver driver = MediaDriver.launch(new MediaDriver.Context()
                .aeronDirectoryName(arguments.get(0))
                .threadingMode(ThreadingMode.SHARED)
                .sharedIdleStrategy(new BackoffIdleStrategy())
                .dirDeleteOnStart(true)
                .dirDeleteOnShutdown(true));
        Aeron aeron = connect(arguments.get(0));
        Echo echo = new Echo(aeron, idleStrategy());
        Thread.ofPlatform().daemon().name("echo").start(echo::run);
        return new Server() {
            @Override
            public void close() {
                echo.stop();
                aeron.close();
                driver.close();
            }
        };
    }

    private static Aeron connect(String directory) {
        return Aeron.connect(new Aeron.Context().aeronDirectoryName(directory));
    }

    /** Sends each request back on the stream that it names. */
    private static final class Echo {
        private final Aeron aeron;
        private final IdleStrategy idle;
        private final Subscription requests;
        private final @Nullable ExclusivePublication[] replies = new ExclusivePublication[CALLERS_MAX];
        private volatile boolean stopped;

        Echo(Aeron aeron, IdleStrategy idle) {
            this.aeron = aeron;
            this.idle = idle;
            requests = aeron.addSubscription(CHANNEL, REQUESTS);
        }

        void run() {
            FragmentAssembler handler =
                    new FragmentAssembler((buffer, offset, length, header) -> answer(buffer, offset, length));
            while (!stopped) {
                idle.idle(requests.poll(handler, FRAGMENTS));
            }
        }

        private void answer(DirectBuffer buffer, int offset, int length) {
            int caller = (int) buffer.getLong(offset);
            ExclusivePublication reply = replies[caller];
            if (reply == null) {
                reply = aeron.addExclusivePublication(CHANNEL, REPLIES + caller);
                replies[caller] = reply;
            }
            while (reply.offer(buffer, offset, length) < 0 && !stopped) {
                Thread.onSpinWait();
            }
        }

        void stop() {
            stopped = true;
        }
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        Aeron aeron = connect(arguments.get(0));
        int[] callers = {0};
        return new Caller() {
            @Override
            public Operation operation(Workload workload, int thread) {
                if (callers[0] == CALLERS_MAX) {
                    throw new IllegalStateException("more than %d callers".formatted(CALLERS_MAX));
                }
                return new RoundTrip(aeron, idleStrategy(), callers[0]++, workload);
            }

            @Override
            public void close() {
                aeron.close();
            }
        };
    }

    /** Keeps so many requests outstanding; their replies come in the same order. */
    private static final class RoundTrip implements Operation {
        private final ExclusivePublication request;
        private final Subscription reply;
        private final UnsafeBuffer message;
        private final FragmentAssembler handler;
        private final IdleStrategy idle;
        private final long[] beganNs;
        private long sent;
        private long completed;
        private long replies;

        RoundTrip(Aeron aeron, IdleStrategy idle, int caller, Workload workload) {
            this.idle = idle;
            request = aeron.addExclusivePublication(CHANNEL, REQUESTS);
            reply = aeron.addSubscription(CHANNEL, REPLIES + caller);
            message = new UnsafeBuffer(ByteBuffer.allocateDirect(Math.max(HEADER_BYTES, workload.bytes())));
            message.putLong(0, caller);
            handler = new FragmentAssembler((buffer, offset, length, header) -> replies++);
            beganNs = new long[workload.underWay()];
        }

        @Override
        public long run(long nowNs) {
            while (sent - completed < beganNs.length) {
                while (request.offer(message) < 0) {
                    idle.idle();
                }
                beganNs[(int) (sent++ % beganNs.length)] = nowNs;
            }
            return complete();
        }

        private long complete() {
            idle.reset();
            while (replies == completed) {
                idle.idle(reply.poll(handler, beganNs.length));
            }
            return beganNs[(int) (completed++ % beganNs.length)];
        }

        @Override
        public void end() {
            while (completed < sent) {
                complete();
            }
        }
    }
}
