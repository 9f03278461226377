package dev.lite.bench.contenders;

import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.FreePort;
import dev.lite.bench.load.NativeProcess;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A Redis server without persistence on a loopback port, and blocking Java sockets that speak its protocol: GET for a read,
 * SET for a write, INCR for an addition. Each caller has a connection and a key; its outstanding commands are a pipeline: written
 * at once, before all replies are read. The server is {@code redis-server} on the path, or the file that
 * {@code lite.bench.redis} names.
 */
public final class Redis implements Contender {
    private static final String BINARY = "redis-server";
    private static final Duration START = Duration.ofSeconds(10);
    private static final long PAUSE_NS = 10_000_000;

    @Override
    public String name() {
        return "Redis";
    }

    @Override
    public boolean isServed() {
        return false;
    }

    @Override
    public Optional<String> unavailable() {
        return binary().isPresent()
                ? Optional.empty()
                : Optional.of("redis-server is not on the path (Debian package redis-server)");
    }

    private static Optional<Path> binary() {
        String named = System.getProperty("lite.bench.redis", "");
        Stream<Path> candidates = named.isBlank()
                ? Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
                        .map(directory -> Path.of(directory, BINARY))
                : Stream.of(Path.of(named));
        return candidates.filter(Files::isExecutable).findFirst();
    }

    @Override
    public Backing start(Path place, Supplier<String> zooKeeper) {
        String port = Integer.toString(FreePort.find());
        NativeProcess process = NativeProcess.start(
                "Redis",
                place.resolve("redis.log"),
                List.of(
                        binary().orElseThrow().toString(),
                        "--port",
                        port,
                        "--bind",
                        "127.0.0.1",
                        "--save",
                        "",
                        "--appendonly",
                        "no",
                        "--dir",
                        place.toString()));
        if (!Polling.until(() -> accepts(port), Deadline.in(START), PAUSE_NS)) {
            process.close();
            throw new IllegalStateException("Redis does not accept connections on port " + port);
        }
        return new Backing() {
            @Override
            public List<String> callerArguments() {
                return List.of(port);
            }

            @Override
            public void close() {
                process.close();
            }
        };
    }

    private static InetSocketAddress address(String port) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(port));
    }

    private static boolean accepts(String port) {
        try (SocketChannel probe = SocketChannel.open(address(port))) {
            return probe.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public Server openServer(List<String> arguments) {
        throw new IllegalStateException("Redis serves by itself");
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        return new Caller() {
            @Override
            public Operation operation(Workload workload, int thread) {
                String key = "bench-%d-%d".formatted(workload.bytes(), thread);
                return redis(arguments.get(0), workload, key);
            }

            @Override
            public void close() {
                // The connections end with the process.
            }
        };
    }

    private static Operation redis(String port, Workload workload, String key) {
        boolean adds = workload.kind() == Workload.Kind.ADD;
        // As many digits after all additions as before.
        String value = adds ? Long.toString(Long.MAX_VALUE / 2) : "x".repeat(workload.bytes());
        ByteBuffer set = command("SET", key, value);
        ByteBuffer stored = text("+OK\r\n");
        ByteBuffer get = command("GET", key);
        ByteBuffer found = text("$%d\r\n%s\r\n".formatted(value.length(), value));
        try {
            SocketPipe pipe = new SocketPipe(SocketChannel.open(address(port)), false);
            roundTrip(pipe, set, stored);
            ByteBuffer requests = repeated(
                    workload.underWay(),
                    switch (workload.kind()) {
                        case READ -> get;
                        case ADD -> command("INCR", key);
                        default -> set;
                    });
            ByteBuffer replies = repeated(
                    workload.underWay(),
                    switch (workload.kind()) {
                        case READ -> found;
                        case ADD -> text(":%s\r\n".formatted(value));
                        default -> stored;
                    });
            return new Batch(workload.underWay(), () -> roundTrip(pipe, requests, replies));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot connect to Redis", e);
        }
    }

    /** Requests, and overwrites the reply with a reply of the same length. */
    private static void roundTrip(SocketPipe pipe, ByteBuffer request, ByteBuffer reply) {
        try {
            byte first = reply.get(0);
            pipe.send(request);
            if (!pipe.receive(reply) || reply.get(0) != first) {
                throw new IllegalStateException("Redis did not answer with " + (char) first);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("a connection to Redis failed", e);
        }
    }

    private static ByteBuffer repeated(int times, ByteBuffer text) {
        ByteBuffer all = ByteBuffer.allocateDirect(times * text.capacity());
        for (int i = 0; i < times; i++) {
            all.put(text.clear());
        }
        return all;
    }

    private static ByteBuffer command(String... words) {
        StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words) {
            text.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
        }
        return text(text.toString());
    }

    private static ByteBuffer text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocateDirect(bytes.length).put(bytes);
    }
}
