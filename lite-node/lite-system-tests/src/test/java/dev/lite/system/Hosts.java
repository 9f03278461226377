package dev.lite.system;

import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Several simulated hosts on this machine: network namespaces, each with one interface to a switch. The switch is in a separate
 * namespace and has an address, too. Nothing outside of these namespaces is changed. {@link #close} ends the processes and removes the
 * namespaces.
 */
final class Hosts implements AutoCloseable {
    private static final String NET = "10.77.0.";
    private static final int SWITCH = 254;

    private final String prefix = "lite%d-".formatted(ProcessHandle.current().pid());
    private final Path directory;
    private final List<String> namespaces = new ArrayList<>();
    private final Map<String, Process> processes = new HashMap<>();

    private Hosts(Path directory) {
        this.directory = directory;
    }

    /** Why this machine cannot create them; empty if it can. */
    static Optional<String> unavailable() {
        try {
            if (!Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0)) {
                return Optional.of("network namespaces need root");
            }
            String probe = "lite%d-probe".formatted(ProcessHandle.current().pid());
            ip("netns", "add", probe);
            ip("netns", "del", probe);
            return Optional.empty();
        } catch (IOException | UncheckedIOException | IllegalStateException e) {
            return Optional.of("network namespaces cannot be made here: " + e.getMessage());
        }
    }

    /** Creates this many hosts and their switch; logs are written to the directory. */
    static Hosts make(int count, Path directory) {
        var hosts = new Hosts(directory);
        try {
            String hub = hosts.add("switch");
            ip("-n", hub, "link", "add", "br0", "type", "bridge");
            ip("-n", hub, "addr", "add", NET + SWITCH + "/24", "dev", "br0");
            ip("-n", hub, "link", "set", "br0", "up");
            for (int host = 1; host <= count; host++) {
                String namespace = hosts.add(Integer.toString(host));
                String port = "port" + host;
                ip("-n", namespace, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", hub);
                ip("-n", hub, "link", "set", port, "master", "br0", "up");
                ip("-n", namespace, "addr", "add", address(host) + "/24", "dev", "eth0");
                ip("-n", namespace, "link", "set", "eth0", "up");
            }
            return hosts;
        } catch (RuntimeException e) {
            hosts.close();
            throw e;
        }
    }

    private String add(String name) {
        String namespace = prefix + name;
        ip("netns", "add", namespace);
        namespaces.add(namespace);
        ip("-n", namespace, "link", "set", "lo", "up");
        return namespace;
    }

    /** The address of a host, or of the switch (0). */
    static String address(int host) {
        return NET + (host == 0 ? SWITCH : host);
    }

    /** Blocks all traffic between two hosts, or between a host and the switch (0). */
    void cut(int one, int other) {
        block("add", one, other);
        block("add", other, one);
    }

    /** Ends {@link #cut}. */
    void heal(int one, int other) {
        block("del", one, other);
        block("del", other, one);
    }

    private void block(String action, int from, int to) {
        ip("-n", namespace(from), "route", action, "blackhole", address(to) + "/32");
    }

    private String namespace(int host) {
        return prefix + (host == 0 ? "switch" : host);
    }

    /** Runs a program on a host, or on the switch (0), and waits until its ready file exists. */
    void start(int host, String name, List<String> command, Path readyFile) {
        List<String> whole = new ArrayList<>(List.of("ip", "netns", "exec", namespace(host)));
        whole.addAll(command);
        Path log = directory.resolve(name + ".log");
        Process process;
        try {
            Files.createDirectories(directory);
            process = new ProcessBuilder(whole)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        processes.put(name, process);
        Waits.until("%s is ready; its log is %s".formatted(name, log), Waits.seconds(90), () -> {
            if (!process.isAlive()) {
                throw new AssertionError("%s ended; its log is %s".formatted(name, log));
            }
            return Files.exists(readyFile);
        });
    }

    /** Kills a program and waits for its end. */
    void kill(String name) {
        Process process = Objects.requireNonNull(processes.remove(name), name);
        process.destroyForcibly();
        awaitEnd(process);
    }

    private static void awaitEnd(Process process) {
        try {
            boolean unused = process.waitFor(Duration.ofSeconds(10));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        processes.values().forEach(Process::destroyForcibly);
        processes.values().forEach(Hosts::awaitEnd);
        for (String namespace : namespaces) {
            ip("netns", "del", namespace);
        }
    }

    private static void ip(String... arguments) {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(Arrays.asList(arguments));
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (process.waitFor() != 0) {
                throw new IllegalStateException("%s: %s".formatted(String.join(" ", command), said));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }
}
