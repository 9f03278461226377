package dev.lite.system.hostile;

import java.util.ArrayList;
import java.util.List;

/** One line for each attack: what was tried, what held, and the throughput of a neighbour meanwhile. One thread. */
final class HostileReport {
    private static final String LINE = "%-62s %7s  %-48s %10s%n";
    private final List<String> lines = new ArrayList<>();

    HostileReport() {
        lines.add(LINE.formatted("attack", "tried", "held", "neighbour"));
    }

    /**
     * Adds a line and prints it.
     *
     * @param neighbour the neighbour's operations per second, divided by those beside a well-behaved application
     */
    void add(String attack, int tried, String held, double neighbour) {
        String line = LINE.formatted(attack, tried, held, "%.2f".formatted(neighbour));
        lines.add(line);
        System.out.print(line);
    }

    /** Prints all lines again, together. */
    void print() {
        System.out.print("\n" + String.join("", lines));
        System.out.println(
                "The last column: the throughput of a neighbour on the same node, divided by that just before beside a well-behaved");
        System.out.println(
                "application with one busy thread. All of them and the attacker share this machine's processors.");
    }
}
