package dev.lite.tier.qos;

import dev.lite.os.InFlight;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** This machine. In a container, {@code /proc/loadavg} has the threads of the whole host, which share its processors. */
final class ThisMachine implements Machine {
    private static final Path LOAD = Path.of("/proc/loadavg");
    private static final int RUNNABLE = 3; // as "2/481", after three averages

    @Override
    public int processors() {
        return Runtime.getRuntime().availableProcessors();
    }

    @Override
    public int runnable() {
        try {
            return runnable(Files.readString(LOAD));
        } catch (IOException e) {
            return 0;
        }
    }

    /** @param line of {@code /proc/loadavg} */
    static int runnable(String line) {
        String[] words = line.trim().split("[ /]", -1);
        try {
            return words.length > RUNNABLE ? Math.max(0, Integer.parseInt(words[RUNNABLE]) - 1) : 0;
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    @Override
    public int underWay() {
        return InFlight.underWay();
    }

    @Override
    public int highUnderWay() {
        return InFlight.countedUnderWay();
    }
}
