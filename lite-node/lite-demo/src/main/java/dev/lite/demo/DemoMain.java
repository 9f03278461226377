package dev.lite.demo;

/** Runs the demo; the exit status is 0 only if every comparison held. */
public final class DemoMain {

    private DemoMain() {}

    /** No arguments; the settings are system properties {@code lite.demo.*}, see the module's pom.xml. */
    public static void main(String[] arguments) {
        ClusterProgram.main("The demo", out -> new DemoRun(DemoSettings.of(System.getProperties()), out));
    }
}
