package dev.lite.bench.contenders;

import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/**
 * A ping-pong through two rings in shared memory, for one caller. Both sides spin during a run, and the server sleeps between
 * runs. A ring has {@value #ENTRIES} entries of a cache line with a sequence number and a payload word; it needs no flow
 * control, because at most one message is outstanding.
 */
public final class BareRing implements Contender {
    private static final int ENTRIES = 1024;
    private static final int ENTRY_BYTES = 64;
    private static final long RING_BYTES = (long) ENTRIES * ENTRY_BYTES;
    private static final long RUNNING = 0;
    private static final long PINGS = 4096;
    private static final long PONGS = PINGS + RING_BYTES;
    private static final long BYTES = PONGS + RING_BYTES;
    private static final int POLLS = 1000;
    private static final long SLEEP_NS = Duration.ofSeconds(10).toNanos();

    @Override
    public String name() {
        return "bare ring";
    }

    @Override
    public Backing start(Path place, Supplier<String> zooKeeper) {
        String file = place.resolve("rings").toString();
        SharedMemory memory = SharedMemory.createFile(Path.of(file), BYTES);
        return new Backing() {
            @Override
            public List<String> serverArguments() {
                return List.of(file);
            }

            @Override
            public List<String> callerArguments() {
                return List.of(file);
            }

            @Override
            public void close() {
                memory.close();
            }
        };
    }

    @Override
    public Server openServer(List<String> arguments) {
        SharedMemory memory = SharedMemory.openFile(Path.of(arguments.get(0)));
        Thread.ofPlatform().daemon().name("pong").start(() -> answer(memory.address()));
        return new Server() {};
    }

    private static void answer(long base) {
        long next = 1;
        while (true) {
            if (RawMemory.getIntVolatile(base + RUNNING) == 0) {
                Futex.await(base + RUNNING, 0, SLEEP_NS);
                continue;
            }
            for (int i = 0; i < POLLS; i++) {
                long ping = base + PINGS + entry(next);
                if (RawMemory.getLongAcquire(ping) == next) {
                    send(base + PONGS, next, RawMemory.getLong(ping + Long.BYTES));
                    next++;
                } else {
                    Thread.onSpinWait();
                }
            }
        }
    }

    private static void send(long ring, long sequence, long payload) {
        long entry = ring + entry(sequence);
        RawMemory.putLong(entry + Long.BYTES, payload);
        RawMemory.putLongRelease(entry, sequence);
    }

    private static long entry(long sequence) {
        return (sequence & (ENTRIES - 1)) * ENTRY_BYTES;
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        SharedMemory memory = SharedMemory.openFile(Path.of(arguments.get(0)));
        Ping ping = new Ping(memory.address());
        return new Caller() {
            @Override
            public Operation operation(Workload workload, int thread) {
                if (workload.callers() > 1) {
                    throw new IllegalArgumentException("the bare ring has one caller, not " + workload.callers());
                }
                return ping;
            }

            @Override
            public void close() {
                memory.close();
            }
        };
    }

    private static final class Ping implements Operation {
        private final long base;
        private long last;

        Ping(long base) {
            this.base = base;
        }

        @Override
        public void begin() {
            RawMemory.putIntVolatile(base + RUNNING, 1);
            Futex.wake(base + RUNNING, 1);
        }

        @Override
        public long run(long nowNs) {
            long sequence = ++last;
            send(base + PINGS, sequence, sequence);
            long pong = base + PONGS + entry(sequence);
            while (RawMemory.getLongAcquire(pong) != sequence) {
                Thread.onSpinWait();
            }
            if (RawMemory.getLong(pong + Long.BYTES) != sequence) {
                throw new IllegalStateException("the pong does not match ping " + sequence);
            }
            return nowNs;
        }

        @Override
        public void end() {
            RawMemory.putIntVolatile(base + RUNNING, 0);
        }
    }
}
