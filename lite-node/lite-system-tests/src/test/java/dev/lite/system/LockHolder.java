package dev.lite.system;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrSpec;
import dev.lite.cluster.process.ProcessEnd;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;

/** An application that takes a lock, prints its token, and holds the lock until it is killed or its parent process ends. */
final class LockHolder {
    static final String HOLDS = "holds the lock, token ";

    private LockHolder() {}

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
