package dev.lite.bench;

import dev.lite.os.waiting.Polling;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The native programs of the Debian package {@code perftest} between two processes on this machine's RDMA device, if they
 * are installed. Used by one thread.
 */
final class Perftest {
    private static final int PORT = 18_515;
    private static final Duration DEADLINE = Duration.ofSeconds(60);
    private static final long PAUSE_NS = 20_000_000;
    private static final int TYPICAL_US = 4; // columns of the table that the programs print
    private static final int AVERAGE_MIB_PER_S = 3;
    private static final int MILLIONS_PER_S = 4;
    private static final double MIB_TO_MB = 1.048576;

    private static final Pattern REGIONS = Pattern.compile("\\bmr (\\d+)");

    private static String failure = "";

    private Perftest() {}

    /** Why the last program returned no figure. */
    static String failure() {
        return failure;
    }

    /** The time of one write from post to completion in nanoseconds: ib_write_bw with a queue of one. */
    static OptionalDouble writeNs(int bytes, int iterations) {
        OptionalDouble millions = column(MILLIONS_PER_S, bytes, "ib_write_bw", "-t", "1", "-n", "" + iterations);
        return millions.isPresent() ? OptionalDouble.of(1e3 / millions.getAsDouble()) : millions;
    }

    /** The typical time of a read, in nanoseconds. */
    static OptionalDouble readNs(int bytes, int iterations) {
        OptionalDouble us = column(TYPICAL_US, bytes, "ib_read_lat", "-n", "" + iterations);
        return us.isPresent() ? OptionalDouble.of(us.getAsDouble() * 1e3) : us;
    }

    /**
     * The bandwidth with many outstanding operations.
     *
     * @param program ib_write_bw, with 128 outstanding, or ib_read_bw, with as many as the device allows
     */
    static OptionalDouble megabytesPerSecond(String program, int bytes, int iterations) {
        OptionalDouble mib = column(AVERAGE_MIB_PER_S, bytes, program, "-n", "" + iterations);
        return mib.isPresent() ? OptionalDouble.of(mib.getAsDouble() * MIB_TO_MB) : mib;
    }

    private static OptionalDouble column(int column, int bytes, String... program) {
        List<String> command = new ArrayList<>(Arrays.asList(program));
        // -x 1: the GID index of RoCE v2 with IPv4; -F: no warning about the processor's frequency
        command.addAll(List.of("-F", "-x", "1", "-p", "" + PORT, "-s", "" + bytes));
        Process server = null;
        try {
            server = start(command);
            awaitListening(server);
            List<String> client = new ArrayList<>(command);
            client.add("127.0.0.1");
            String text = output(start(client));
            for (String line : text.lines().map(String::strip).toList()) {
                if (line.startsWith(bytes + " ")) {
                    return OptionalDouble.of(Double.parseDouble(line.split("\\s+", -1)[column]));
                }
            }
            failure = "%s printed no row: %s".formatted(program[0], text);
        } catch (IOException e) {
            failure = "%s (Debian package perftest): %s".formatted(program[0], e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            failure = "interrupted";
        } finally {
            if (server != null) {
                server.destroyForcibly();
            }
        }
        return OptionalDouble.empty();
    }

    private static Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** The complete output of a program, which fits into a pipe. */
    private static String output(Process process) throws IOException, InterruptedException {
        if (!process.waitFor(DEADLINE)) {
            process.destroyForcibly();
            throw new IOException("not done within " + DEADLINE);
        }
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    /** Reads the state from the kernel, because the server would take a probe connection for its client. */
    private static void awaitListening(Process server) throws IOException {
        String socket = ":%04X ".formatted(PORT);
        long endNs = System.nanoTime() + DEADLINE.toNanos();
        while (System.nanoTime() - endNs < 0) {
            for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
                // state 0A: listening
                if (Files.readAllLines(Path.of(table)).stream()
                        .anyMatch(line -> line.contains(socket) && line.contains(" 0A "))) {
                    return;
                }
            }
            if (!server.isAlive()) {
                throw new IOException("the server ended: "
                        + new String(server.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            }
            Polling.sleepNs(PAUSE_NS);
        }
        throw new IOException("the server does not listen on port " + PORT);
    }

    /** The number of memory regions on all devices of this machine, from {@code rdma resource show} (Debian package iproute2). */
    static OptionalInt memoryRegions() {
        try {
            String text = output(start(List.of("rdma", "resource", "show")));
            Matcher counts = REGIONS.matcher(text);
            int regions = 0;
            boolean found = false;
            while (counts.find()) {
                found = true;
                regions += Integer.parseInt(counts.group(1));
            }
            if (found) {
                return OptionalInt.of(regions);
            }
            failure = "rdma resource show printed no count: " + text;
        } catch (IOException e) {
            failure = "rdma (Debian package iproute2): " + e.getMessage();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            failure = "interrupted";
        }
        return OptionalInt.empty();
    }
}
