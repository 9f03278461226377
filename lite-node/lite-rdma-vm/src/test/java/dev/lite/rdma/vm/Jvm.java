package dev.lite.rdma.vm;

import dev.lite.local.ClassCaches;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Command lines of JVMs. */
final class Jvm {
    /**
     * For tests with DiSNI, which makes byte buffers over registered memory with an internal class of the JDK. With it,
     * a JVM starts without the class cache.
     */
    static final String FOR_DISNI = "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED";

    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

    private Jvm() {}

    /**
     * A script that executes a JVM with this one's JDK, with {@link GuestClasses}. Crash reports of the JVM are
     * written to the machine's directory.
     *
     * @param jvm arguments of the JVM
     * @param main the name of the main class
     */
    static String command(List<String> jvm, String main, List<String> arguments) {
        List<String> command = start();
        command.addAll(jvm);
        GuestClasses classes = GuestClasses.get();
        command.addAll(List.of("-XX:AOTCache=" + classes.cache(), "-cp", classes.path(), main));
        return script(command, arguments);
    }

    /** A script that executes the node as its image does: from its jar and its class cache, which saves most of the start. */
    static String node(List<String> jvm, List<String> arguments) {
        List<String> command = start();
        command.addAll(jvm);
        command.addAll(ClassCaches.options(JAVA, VmFiles.nodeJar()));
        command.addAll(List.of("-jar", VmFiles.nodeJar().toString()));
        return script(command, arguments);
    }

    /** The beginning of every command line. */
    static List<String> start() {
        return new ArrayList<>(List.of(
                JAVA.toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:ErrorFile=hs_err_pid%p.log",
                "-Dlite.test.time-scale=" + System.getProperty("lite.test.time-scale", "1")));
    }

    private static String script(List<String> command, List<String> arguments) {
        return Stream.concat(command.stream(), arguments.stream())
                .map(Jvm::quoted)
                .collect(Collectors.joining(" ", "exec ", "\n"));
    }

    /** One word of a shell's command line. */
    static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }
}
