package dev.lite.rdma.vm;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Command lines of JVMs. */
final class Jvm {
    private Jvm() {}

    /**
     * A script that executes a JVM with this one's JDK and class path. Crash reports of the JVM are written to the
     * machine's directory.
     *
     * @param jvm arguments of the JVM
     * @param main the name of the main class
     */
    static String command(List<String> jvm, String main, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:ErrorFile=hs_err_pid%p.log",
                "-Dlite.test.time-scale=" + System.getProperty("lite.test.time-scale", "1")));
        command.addAll(jvm);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
        command.addAll(arguments);
        return command.stream().map(Jvm::quoted).collect(Collectors.joining(" ", "exec ", "\n"));
    }

    /** One word of a shell's command line. */
    static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }
}
