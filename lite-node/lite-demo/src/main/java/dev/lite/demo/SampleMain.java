package dev.lite.demo;

import dev.lite.local.LocalCluster;
import java.io.PrintStream;
import java.util.Properties;

/** Runs one sample on a cluster of its own; the exit status is 0 only if all of its services ended well. */
public final class SampleMain implements ClusterProgram {

    private final Sample sample;
    private final SampleRun run;
    private final PrintStream out;

    private SampleMain(Properties properties, PrintStream out) {
        this.sample = Sample.of(properties.getProperty("lite.sample", ""));
        this.run = new SampleRun(SampleSettings.of(properties));
        this.out = out;
    }

    /** No arguments; the settings are system properties, see the module's pom.xml. */
    public static void main(String[] arguments) {
        ClusterProgram.main("The sample", out -> new SampleMain(System.getProperties(), out));
    }

    @Override
    public boolean run() {
        String name = "sample-" + ProcessHandle.current().pid();
        try (LocalCluster cluster = run.cluster().name(name).build()) {
            cluster.up(this::print);
            print("Starting the services of %s".formatted(sample.name()));
            run.run(sample, cluster, line -> print("  " + line));
            print("Stopping the cluster.");
        }
        return true;
    }

    @Override
    public void interrupted() {
        run.interrupted();
    }

    private void print(String line) {
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }
}
