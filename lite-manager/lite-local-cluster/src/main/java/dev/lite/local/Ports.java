package dev.lite.local;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashSet;
import java.util.Set;

/** Gives out ports of the loopback address: the wanted one, or the next that is free. Not thread-safe. */
final class Ports {
    private static final int TRIES = 1000;
    private static final int CONNECT_TIMEOUT_MS = 1000;

    private final Set<Integer> given = new HashSet<>();

    /**
     * A port that is free now and was not given out before.
     *
     * @throws ProcessFailedException when none of the next thousand is free
     */
    int free(int wanted) {
        for (int port = wanted; port < wanted + TRIES; port++) {
            if (!given.contains(port) && isFree(port)) {
                given.add(port);
                return port;
            }
        }
        throw new ProcessFailedException("no port from %d to %d is free".formatted(wanted, wanted + TRIES - 1));
    }

    /** Does not give out this port. */
    void reserve(int port) {
        given.add(port);
    }

    /** Whether a server accepts connections at this port of the loopback address. */
    static boolean isOpen(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), CONNECT_TIMEOUT_MS);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether a server could listen at this port of the loopback address. */
    static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
