package dev.lite.bench.contenders;

import dev.lite.api.Lite;
import dev.lite.bench.load.Caller;
import dev.lite.bench.load.ChildProcess;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.Server;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Two applications in their own processes, each attached to a node in its own process. Beside each application, {@code
 * lite.bench.sessions} other sessions are attached to its node and idle.
 */
public class AttachedLite implements Contender {
    private static final Duration START = Duration.ofSeconds(60);

    private static final int CHANNELS = 64;

    private final String fabric;
    private final int channels;
    private final String protection;

    private AttachedLite(String fabric, int channels, String protection) {
        this.fabric = fabric;
        this.channels = channels;
        this.protection = protection;
    }

    /** Nodes that are connected by shared memory; calls go through them. */
    public static final class Shm extends AttachedLite {
        /** For the service loader. */
        public Shm() {
            super("shm", 0, BenchNode.Spec.ENCRYPTED);
        }
    }

    /** Nodes that are connected by shared memory, and make channels for calls. */
    public static final class Channel extends AttachedLite {
        /** For the service loader. */
        public Channel() {
            super("shm", CHANNELS, BenchNode.Spec.ENCRYPTED);
        }
    }

    /** Nodes that are connected by TCP, and make channels for calls. */
    public static final class TcpChannel extends AttachedLite {
        /** For the service loader. */
        public TcpChannel() {
            super("tcp", CHANNELS, BenchNode.Spec.ENCRYPTED);
        }
    }

    /** Nodes that are connected by TCP; calls go through them. */
    public static final class Tcp extends AttachedLite {
        /** For the service loader. */
        public Tcp() {
            super("tcp", 0, BenchNode.Spec.ENCRYPTED);
        }
    }

    /** The same without encryption. */
    public static final class PlainTcp extends AttachedLite {
        /** For the service loader. */
        public PlainTcp() {
            super("tcp", 0, BenchNode.Spec.PLAIN);
        }
    }

    @Override
    public String name() {
        String way = channels == 0 ? fabric : "channel";
        String plain = protection.equals(BenchNode.Spec.PLAIN) ? " plain" : "";
        return "LITE attached " + (channels > 0 && fabric.equals("tcp") ? "tcp channel" : way) + plain;
    }

    @Override
    public Backing start(Path place, Supplier<String> zooKeeper) {
        List<BenchNode.Spec> specs = List.of(
                new BenchNode.Spec(zooKeeper.get(), fabric, place, "node-0", channels, protection),
                new BenchNode.Spec(zooKeeper.get(), fabric, place, LiteServer.NODE, channels, protection));
        Nodes nodes = new Nodes(
                BenchManager.start(specs.get(0)),
                specs.stream()
                        .map(spec -> ChildProcess.java(spec.name(), List.of(), BenchNode.class, spec.words()))
                        .toList(),
                specs.stream().map(spec -> spec.socket().toString()).toList());
        try {
            nodes.processes.forEach(process -> process.answer(START));
        } catch (IllegalStateException e) {
            nodes.close();
            throw e;
        }
        return nodes;
    }

    /** The node processes, and what a manager does for them. Both parties know the sockets of all nodes. */
    private record Nodes(BenchManager manager, List<ChildProcess> processes, List<String> sockets) implements Backing {
        @Override
        public List<String> serverArguments() {
            return sockets;
        }

        @Override
        public List<String> callerArguments() {
            return sockets;
        }

        @Override
        public void close() {
            processes.forEach(ChildProcess::close);
            manager.close();
        }
    }

    @Override
    public Server openServer(List<String> sockets) {
        List<Lite> idle = attachIdle(sockets.get(1));
        return new LiteServer(attach(sockets.get(1), "bench-server"), () -> idle.forEach(Lite::close));
    }

    @Override
    public Caller openCaller(List<String> sockets, String serverAddress) {
        List<Lite> idle = attachIdle(sockets.get(0));
        return new LiteCaller(
                node -> attach(sockets.get(node), "bench-caller"), fabric, () -> idle.forEach(Lite::close));
    }

    private static List<Lite> attachIdle(String socket) {
        List<Lite> idle = new ArrayList<>();
        for (int i = Integer.getInteger("lite.bench.sessions", 0); i > 0; i--) {
            idle.add(attach(socket, "idle-" + i));
        }
        return idle;
    }

    /** As the Spring Boot starter attaches. */
    private static Lite attach(String socket, String application) {
        return Lite.attach(Lite.AttachOptions.to(Path.of(socket), application).withReattach(true));
    }
}
