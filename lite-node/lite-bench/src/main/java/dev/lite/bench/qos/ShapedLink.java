package dev.lite.bench.qos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Two network namespaces with a link between them that {@code tc} shapes, each direction alike. It can give some connections
 * a part of the link, as a network card gives its queue pairs. Removed at the end, also when the benchmark is terminated. Used
 * by one thread; needs root.
 */
final class ShapedLink implements AutoCloseable {
    private static final Duration COMMAND = Duration.ofSeconds(20);
    private static final String WHOLE = "10";
    private static final String FIRST_PART = "11";
    private static final String SECOND_PART = "12";
    private static final int PERCENT = 100;

    private final long megabits;
    private final List<Side> sides;
    private final Thread hook;

    /** One end of the link. */
    record Side(String namespace, String device, String address) {
        /** What runs a command in the namespace. */
        List<String> by() {
            return List.of("ip", "netns", "exec", namespace);
        }
    }

    /** @param megabits per second, in each direction */
    private ShapedLink(long megabits) {
        this.megabits = megabits;
        long id = ProcessHandle.current().pid();
        sides = List.of(side(id, 0), side(id, 1));
        hook = Thread.ofPlatform().unstarted(this::remove);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private static Side side(long id, int number) {
        return new Side(
                "lite-qos-%d-%d".formatted(id, number),
                "lq%d-%d".formatted(id, number),
                "10.97.0.%d".formatted(number + 1));
    }

    /**
     * Makes the link.
     *
     * @return the link, or why this process cannot make one
     */
    static Made make(long megabits) {
        ShapedLink link = new ShapedLink(megabits);
        try {
            link.create();
            return new Made(Optional.of(link), "");
        } catch (IllegalStateException | UncheckedIOException e) {
            link.close();
            return new Made(Optional.empty(), String.valueOf(e.getMessage()));
        }
    }

    /** A link, or the reason why there is none. */
    record Made(Optional<ShapedLink> link, String reason) {}

    private void create() {
        for (Side side : sides) {
            run(List.of("ip", "netns", "add", side.namespace));
        }
        Side first = sides.getFirst();
        Side second = sides.getLast();
        run(words("ip link add %s netns %s type veth peer name %s netns %s"
                .formatted(first.device, first.namespace, second.device, second.namespace)));
        for (Side side : sides) {
            in(side, "ip addr add %s/24 dev %s".formatted(side.address, side.device));
            in(side, "ip link set lo up");
            in(side, "ip link set %s up".formatted(side.device));
            // Always there, also where a namespace may not use the others; and it does not probe the link.
            in(side, "sysctl -q -w net.ipv4.tcp_congestion_control=reno");
            in(side, "tc qdisc add dev %s root handle 1: htb default %s".formatted(side.device, WHOLE));
            shape(side, WHOLE, PERCENT);
        }
    }

    private void shape(Side side, String part, int percent) {
        in(
                side,
                "tc class replace dev %s parent 1: classid 1:%s htb rate %dkbit ceil %dkbit burst 32kb cburst 32kb"
                        .formatted(
                                side.device,
                                part,
                                megabits * 1000 * percent / PERCENT,
                                megabits * 1000 * percent / PERCENT));
    }

    Side side(int number) {
        return sides.get(number);
    }

    /** Megabits per second in one direction. */
    long megabits() {
        return megabits;
    }

    /** All connections share the whole link. */
    void share() {
        for (Side side : sides) {
            in(side, "tc filter del dev %s parent 1:".formatted(side.device));
        }
    }

    /**
     * Divides the link: the connection that sent the most so far gets a part, the others get the rest.
     *
     * @param port the port that both sides listen on
     */
    void divide(int port, int percent) {
        List<Integer> ports = portsByBytes(port);
        for (Side side : sides) {
            shape(side, FIRST_PART, percent);
            shape(side, SECOND_PART, PERCENT - percent);
            for (int index = 0; index < ports.size(); index++) {
                String part = index == 0 ? FIRST_PART : SECOND_PART;
                for (String end : List.of("sport", "dport")) {
                    in(
                            side,
                            "tc filter add dev %s parent 1: protocol ip u32 match ip %s %d 0xffff flowid 1:%s"
                                    .formatted(side.device, end, ports.get(index), part));
                }
            }
        }
    }

    /** The ports of the connections at the side that opened them, the busiest first. */
    private List<Integer> portsByBytes(int port) {
        record Connection(int port, long bytes) {}
        List<Connection> connections = new ArrayList<>();
        String[] lines = in(sides.getFirst(), "ss -tinH state established").split("\n", -1);
        for (int line = 0; line + 1 < lines.length; line += 2) {
            String[] words = lines[line].trim().split("\\s+", -1);
            int local = portOf(words[2]);
            int opener = local == port ? portOf(words[3]) : local;
            connections.add(
                    new Connection(opener, Long.parseLong(lines[line + 1].replaceAll(".*bytes_sent:(\\d+).*", "$1"))));
        }
        if (connections.size() < 2) {
            throw new IllegalStateException("%d connections; at least 2 are needed".formatted(connections.size()));
        }
        return connections.stream()
                .sorted(Comparator.comparingLong(Connection::bytes).reversed())
                .map(Connection::port)
                .toList();
    }

    private static int portOf(String address) {
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    private String in(Side side, String command) {
        List<String> all = new ArrayList<>(side.by());
        all.addAll(words(command));
        return run(all);
    }

    private static List<String> words(String command) {
        return List.of(command.split(" "));
    }

    /** Runs a command; its output. */
    private static String run(List<String> command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(COMMAND)) {
                process.destroyForcibly();
                throw new IllegalStateException(
                        "\"%s\" did not end within %s".formatted(String.join(" ", command), COMMAND));
            }
            if (process.exitValue() != 0) {
                throw new IllegalStateException(
                        "\"%s\" failed: %s".formatted(String.join(" ", command), output.trim()));
            }
            return output;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + command.getFirst(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Removing a namespace removes its end of the link, and with it the other end. */
    private void remove() {
        for (Side side : sides) {
            try {
                String unused = run(List.of("ip", "netns", "del", side.namespace));
            } catch (IllegalStateException | UncheckedIOException e) {
                // It was never made.
            }
        }
    }

    @Override
    public void close() {
        remove();
        Runtime.getRuntime().removeShutdownHook(hook);
    }
}
