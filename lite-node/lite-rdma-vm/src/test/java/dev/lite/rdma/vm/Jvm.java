package dev.lite.rdma.vm;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Command lines of JVMs. */
final class Jvm {
    private Jvm() {}

    /**
     * A script that becomes a JVM with this one's JDK and class path. A crash of the JVM leaves its report in the directory.
     *
     * @param directory where the machine's files are, as this JVM sees it
     */
    static String command(Path directory, List<String> jvm, Class<?> main, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:ErrorFile=hs_err_pid%p.log",
                "-Dlite.test.time-scale=" + System.getProperty("lite.test.time-scale", "1")));
        command.addAll(jvm);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(arguments);
        return command.stream().map(Jvm::quoted).collect(Collectors.joining(" ", "exec ", "\n"));
    }

    private static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }
}
