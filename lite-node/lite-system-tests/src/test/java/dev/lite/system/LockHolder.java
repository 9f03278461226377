package dev.lite.system;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrSpec;
import dev.lite.cluster.process.ProcessEnd;
import dev.lite.testing.Waits;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** An application that takes a lock, prints its token, and holds the lock until it is killed or its parent process ends. */
final class LockHolder {
    static final String HOLDS = "holds the lock, token ";

    private LockHolder() {}

    /** Starts a program that takes a lock, as this one does; its first argument, this process, is added. */
    static Process start(Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName(),
                Long.toString(ProcessHandle.current().pid())));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Waits until a started program has the lock; returns its token. */
    static long awaitToken(Process process) throws IOException {
        BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
        StringBuilder said = new StringBuilder();
        for (String next = output.readLine(); next != null; next = output.readLine()) {
            if (next.startsWith(HOLDS)) {
                return Long.parseLong(next.substring(HOLDS.length()));
            }
            said.append(next).append('\n');
        }
        throw new AssertionError("the process ended before it printed \"%s\":%n%s".formatted(HOLDS, said));
    }

    /** @param arguments the process to end with, the node's socket, the lock's name */
    static void main(String[] arguments) {
        ProcessEnd.whenEnded(
                Long.parseLong(arguments[0]), () -> Runtime.getRuntime().halt(0));
        try (Lite lite = Lite.attach(
                        Lite.AttachOptions.to(Path.of(arguments[1]), "holder").withDeadline(Duration.ofSeconds(30)));
                HeldLock held = lite.sync().lock(arguments[2]).acquire(Duration.ofSeconds(30))) {
            lite.memory()
                    .malloc(LmrSpec.of(1 << 20))
                    .memset(0, 1 << 20, (byte) 1); // anonymous, so it is freed when this process ends
            System.out.println(HOLDS + held.fencingToken());
            while (held.isHeld()) {
                Waits.pass(Duration.ofMillis(100));
            }
        }
    }
}
