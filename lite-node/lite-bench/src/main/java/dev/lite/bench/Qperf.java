package dev.lite.bench;

import dev.lite.os.waiting.Polling;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The native program {@code qperf} over loopback, if it is installed (Debian package {@code qperf}). */
final class Qperf {
    private static final Pattern BANDWIDTH = Pattern.compile("bw\\s*=\\s*([0-9.]+) ([KMGT]?)B/sec");
    private static final Duration START = Duration.ofSeconds(5);
    private static final long PAUSE_NS = 10_000_000;
    private static final double THOUSAND = 1000;

    private Qperf() {}

    /** {@code tcp_bw} in megabytes per second; empty when qperf is not installed or failed. */
    static OptionalDouble tcpBandwidth() {
        Process server = null;
        try {
            int port = freePort();
            server = start("qperf", "-lp", Integer.toString(port));
            awaitListening(port, server);
            Process client = start("qperf", "-lp", Integer.toString(port), "-t", "3", "127.0.0.1", "tcp_bw");
            String output = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            Matcher matcher = BANDWIDTH.matcher(output);
            if (!matcher.find()) {
                return OptionalDouble.empty();
            }
            int thousands = "KMGT".indexOf(matcher.group(2)) - "KMGT".indexOf('M');
            return OptionalDouble.of(Double.parseDouble(matcher.group(1)) * Math.pow(THOUSAND, thousands));
        } catch (IOException e) {
            return OptionalDouble.empty();
        } finally {
            if (server != null) {
                server.destroy();
            }
        }
    }

    private static Process start(String... command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static void awaitListening(int port, Process server) throws IOException {
        long end = System.nanoTime() + START.toNanos();
        while (server.isAlive() && System.nanoTime() < end) {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                return;
            } catch (IOException e) {
                Polling.sleepNs(PAUSE_NS);
            }
        }
        throw new IOException("qperf does not listen on port " + port);
    }
}
