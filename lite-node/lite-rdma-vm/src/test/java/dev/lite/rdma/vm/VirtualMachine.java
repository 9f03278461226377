package dev.lite.rdma.vm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A virtual machine with one virtual CPU and the soft RDMA device rxe0, under software emulation. Its root is this
 * machine's file system, read-only, with an in-memory overlay; {@code /out} is {@link #directory}.
 *
 * <p>It is controlled over its second serial line, which is a Unix socket here ({@code src/vm/init} is the other end). A
 * line with the number of a script runs that script; the answers are its process id and later its exit code. A timer ends
 * the emulator after {@value #LIFE_S} seconds, even if this JVM has died.
 */
final class VirtualMachine implements Machine {
    /**
     * One virtual CPU with one thread: with more, HotSpot executes partly patched code. "Enhanced rep movsb" is off: with
     * it the kernel copies memory by bytes, which are emulated one at a time, and copying words is four times as fast.
     */
    private static final List<String> EMULATOR =
            List.of("qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max,erms=off", "-smp", "1");

    private static final long LIFE_S = 2_400;
    private static final Duration BOOT = Duration.ofSeconds(90);
    private static final Duration END = Duration.ofSeconds(20);
    private static final Duration START = Duration.ofSeconds(20);
    private static final int ENDED_WELL = 1; // isa-debug-exit: (0 << 1) | 1

    private final String name;
    private final String address;
    private final Path directory;
    private final Process emulator;
    private final SocketChannel line;
    private final Map<Integer, Program> programs = new ConcurrentHashMap<>();
    private final CompletableFuture<String> ready = new CompletableFuture<>();
    private int numbers; // guarded by this

    private VirtualMachine(String name, String address, Path directory, Process emulator, SocketChannel line) {
        this.name = name;
        this.address = address;
        this.directory = directory;
        this.emulator = emulator;
        this.line = line;
    }

    /**
     * Starts a machine; {@link #awaitReady} waits until it has booted.
     *
     * @param name the name of the machine and of its directory, which is emptied
     * @param host the last number of its address 10.9.0.x, and of its MAC address
     * @param network qemu's {@code -netdev} with the id n0
     * @param memory qemu's {@code -m}
     */
    static VirtualMachine boot(VmImage image, String name, int host, String network, String memory) {
        Path directory = VmFiles.root().resolve(name);
        String address = "10.9.0." + host;
        Path sockets = null;
        try {
            LocalMachine.empty(directory);
            sockets = Files.createTempDirectory("lite-vm");
            Path socket = sockets.resolve("line"); // in the temporary directory: a socket path has at most 107 bytes
            try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
                server.bind(UnixDomainSocketAddress.of(socket));
                Process emulator = new ProcessBuilder(command(image, directory, address, host, network, memory, socket))
                        .redirectErrorStream(true)
                        .redirectOutput(directory.resolve("qemu.log").toFile())
                        .start();
                Runtime.getRuntime().addShutdownHook(new Thread(() -> end(emulator)));
                SocketChannel line = accept(server, emulator, directory);
                VirtualMachine machine = new VirtualMachine(name, address, directory, emulator, line);
                Thread.ofPlatform().name("vm-" + name).daemon().start(machine::listen);
                return machine;
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start the machine " + name, e);
        } finally {
            if (sockets != null) {
                LocalMachine.delete(sockets);
            }
        }
    }

    private static List<String> command(
            VmImage image, Path directory, String address, int host, String network, String memory, Path socket) {
        List<String> command = new ArrayList<>(List.of("timeout", "-k", "5", Long.toString(LIFE_S)));
        command.addAll(EMULATOR);
        command.addAll(List.of("-m", memory, "-nodefaults", "-no-reboot", "-display", "none"));
        command.addAll(List.of("-kernel", image.kernel().toString()));
        command.addAll(List.of("-initrd", image.initrd().toString()));
        command.addAll(List.of(
                "-append",
                "console=ttyS0 quiet panic=-1 mitigations=off nokaslr rdinit=/init lite.address=" + address));
        command.addAll(List.of("-serial", "file:" + directory.resolve("console.txt")));
        command.addAll(List.of("-chardev", "socket,id=line,path=" + socket, "-serial", "chardev:line"));
        command.addAll(List.of("-device", "isa-debug-exit,iobase=0x501,iosize=1"));
        command.addAll(
                List.of("-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"));
        command.addAll(List.of("-virtfs", "local,path=%s,mount_tag=out,security_model=none".formatted(directory)));
        command.addAll(List.of("-netdev", network));
        command.addAll(List.of("-device", "virtio-net-pci,netdev=n0,mac=52:54:00:00:00:%02x,romfile=".formatted(host)));
        return command;
    }

    /** The emulator connects immediately; if it does not, it has ended, and the socket is closed. */
    private static SocketChannel accept(ServerSocketChannel server, Process emulator, Path directory)
            throws IOException {
        CompletableFuture<SocketChannel> accepted = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                accepted.complete(server.accept());
            } catch (IOException e) {
                accepted.completeExceptionally(e);
            }
        });
        CompletableFuture<Void> ended = emulator.onExit()
                .thenAccept(over -> accepted.completeExceptionally(new IOException("qemu ended with %d: %s"
                        .formatted(over.exitValue(), LocalMachine.read(directory.resolve("qemu.log"))))));
        try {
            return get(accepted, START, "the emulator's start");
        } catch (AssertionError e) {
            end(emulator);
            throw new IOException(e.getMessage(), e);
        } finally {
            ended.cancel(false);
        }
    }

    /** Reads until the line closes at the end of the emulator. */
    private void listen() {
        try (BufferedReader reader = new BufferedReader(Channels.newReader(line, StandardCharsets.UTF_8))) {
            for (String text = reader.readLine(); text != null; text = reader.readLine()) {
                received(text.strip());
            }
        } catch (IOException e) {
            // treated like the end of the line
        }
        AssertionError over = new AssertionError("the machine %s ended; see %s".formatted(name, directory));
        ready.completeExceptionally(over);
        programs.values().forEach(program -> program.lost(over));
    }

    private void received(String line) {
        String[] words = line.split(" ", -1);
        if (words[0].equals("ready")) {
            ready.complete(line);
            return;
        }
        Program program = programs.get(Integer.parseInt(words[0]));
        if (program == null) {
            return;
        }
        if (words.length == 3) {
            program.code.complete(Integer.parseInt(words[2]));
        } else {
            program.pid.complete(Long.parseLong(words[1]));
        }
    }

    /** Waits until it has booted, with file systems, network and device. */
    VirtualMachine awaitReady() {
        try {
            get(ready, BOOT, "the boot of " + name);
            return this;
        } catch (AssertionError e) {
            String console = LocalMachine.read(directory.resolve("console.txt"));
            throw new AssertionError("%s; its console:%n%s".formatted(e.getMessage(), console), e);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public Path directory() {
        return directory;
    }

    @Override
    public String inside(String file) {
        return "/out/" + file;
    }

    @Override
    public String memory() {
        return "/dev/shm";
    }

    @Override
    public synchronized Running start(String script) {
        int number = ++numbers;
        Program program = new Program(number);
        programs.put(number, program);
        try {
            Files.writeString(directory.resolve(number + ".sh"), script);
            send(Integer.toString(number));
        } catch (IOException e) {
            programs.remove(number);
            throw new AssertionError("cannot send a command to the machine %s: %s".formatted(name, e.getMessage()), e);
        }
        get(program.pid, START.multipliedBy(3), "the start of a program in " + name);
        return program;
    }

    private synchronized void send(String command) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap((command + "\n").getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            line.write(bytes);
        }
    }

    /** Kills the emulator, like a power failure. */
    void crash() {
        end(emulator);
    }

    /** Shuts the machine down, and kills it if that fails. */
    @Override
    public void close() {
        try {
            if (emulator.isAlive()) {
                send("end");
                if (!emulator.waitFor(END.toSeconds(), TimeUnit.SECONDS)) {
                    throw new AssertionError("the machine %s did not end within %s".formatted(name, END));
                }
                if (emulator.exitValue() != ENDED_WELL) {
                    throw new AssertionError("the machine %s ended with %d (0: kernel panic); see %s"
                            .formatted(name, emulator.exitValue(), directory));
                }
            }
        } catch (IOException e) {
            throw new AssertionError("the machine %s ended unexpectedly".formatted(name), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        } finally {
            end(emulator);
            try {
                line.close();
            } catch (IOException e) {
                // no longer needed
            }
        }
    }

    private static void end(Process emulator) {
        emulator.descendants().forEach(ProcessHandle::destroyForcibly); // the emulator is a child of its timer
        emulator.destroyForcibly();
        emulator.onExit().orTimeout(END.toSeconds(), TimeUnit.SECONDS).join();
    }

    private static <T> T get(CompletableFuture<T> future, Duration deadline, String what) {
        try {
            return future.get(deadline.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError("%s: not within %s".formatted(what, deadline), e);
        } catch (ExecutionException e) {
            @Nullable Throwable cause = e.getCause();
            throw new AssertionError("%s: %s".formatted(what, cause == null ? e : cause.getMessage()), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    private final class Program implements Running {
        private final int number;
        private final CompletableFuture<Long> pid = new CompletableFuture<>();
        private final CompletableFuture<Integer> code = new CompletableFuture<>();

        Program(int number) {
            this.number = number;
        }

        private void lost(Throwable why) {
            pid.completeExceptionally(why);
            code.completeExceptionally(why);
        }

        @Override
        public int await(Duration deadline) {
            return get(
                    code, deadline, "the end of program %d in %s; its output:%n%s%n".formatted(number, name, output()));
        }

        @Override
        public boolean isRunning() {
            return !code.isDone();
        }

        @Override
        public String output() {
            return LocalMachine.read(directory.resolve(number + ".log"));
        }

        @Override
        public void signal(String name) {
            Running unused = start("exec kill -%s %d".formatted(name, pid.join()));
        }
    }
}
