package dev.lite.rdma.vm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Two virtual machines connected by a virtual cable, a Unix socket, so that no port of this machine is used. Used by one
 * thread.
 */
final class VmPair implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(20);
    private static final long PAUSE_NS = 20_000_000;

    private final VmImage image;
    private final String name;
    private final String memory;
    private final Path sockets;
    private final VirtualMachine a;
    private VirtualMachine b;

    private VmPair(VmImage image, String name, String memory, Path sockets, VirtualMachine a, VirtualMachine b) {
        this.image = image;
        this.name = name;
        this.memory = memory;
        this.sockets = sockets;
        this.a = a;
        this.b = b;
    }

    /** Boots both in parallel and waits until both have booted. */
    static VmPair boot(VmImage image, String name, String memory) {
        Path sockets;
        try {
            sockets = Files.createTempDirectory("lite-vm");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        VirtualMachine a = VirtualMachine.boot(image, name + "-a", 1, network(sockets, true), memory);
        try {
            awaitSocket(sockets);
            VirtualMachine b = VirtualMachine.boot(image, name + "-b", 2, network(sockets, false), memory);
            VmPair pair = new VmPair(image, name, memory, sockets, a, b);
            Machines.ready(b);
            Machines.ready(a);
            return pair;
        } catch (AssertionError | RuntimeException e) {
            a.crash();
            LocalMachine.delete(sockets);
            throw e;
        }
    }

    private static String network(Path sockets, boolean server) {
        return "stream,id=n0,server=%s,addr.type=unix,addr.path=%s"
                .formatted(server ? "on" : "off", sockets.resolve("cable"));
    }

    private static void awaitSocket(Path sockets) {
        long endNs = System.nanoTime() + START.toNanos();
        while (!Files.exists(sockets.resolve("cable"))) {
            if (System.nanoTime() - endNs > 0) {
                throw new AssertionError("the virtual cable's socket does not exist after " + START);
            }
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    VirtualMachine a() {
        return a;
    }

    VirtualMachine b() {
        return b;
    }

    /** As a pair of which no machine boots again: both are connected, and nobody needs the socket's path any more. */
    Machines.Pair asLastingPair() {
        LocalMachine.delete(sockets);
        return asPair();
    }

    Machines.Pair asPair() {
        return new Machines.Pair(a, b);
    }

    /** Boots the second machine again after a crash. */
    void bootB() {
        b = Machines.ready(VirtualMachine.boot(image, name + "-b2", 2, network(sockets, false), memory));
    }

    @Override
    public void close() {
        try (a) {
            b.close();
        } finally {
            LocalMachine.delete(sockets);
        }
    }
}
