package dev.lite.system;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * An application that executes a command for each line of its input, prints the result in one line, and ends with its input. It uses
 * nothing but the JDK and the client.
 */
final class CommandedApplication {
    private final Lite lite;
    private final Duration deadline;
    private final Map<String, LmrHandle> handles = new HashMap<>();

    private CommandedApplication(Lite lite, Duration deadline) {
        this.lite = lite;
        this.deadline = deadline;
    }

    /** @param arguments the node's socket, and the deadline of every operation in seconds */
    static void main(String[] arguments) throws IOException {
        Duration deadline = Duration.ofSeconds(Long.parseLong(arguments[1]));
        Lite.AttachOptions options = Lite.AttachOptions.to(Path.of(arguments[0]), "commanded")
                .withDeadline(deadline)
                .withReattach(true);
        try (Lite lite = Lite.attach(options);
                BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            System.out.println("attached");
            CommandedApplication application = new CommandedApplication(lite, deadline);
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                System.out.println(application.answer(line.split(" ", -1)));
            }
        } catch (LiteException e) {
            System.out.println("refused: " + e.getMessage());
        }
    }

    private String answer(String[] words) {
        try {
            return execute(words);
        } catch (LiteException e) {
            return "failed: " + e.getMessage();
        }
    }

    private String execute(String[] words) {
        return switch (words[0]) {
            case "create" -> {
                LmrSpec spec = LmrSpec.of(1 << 20)
                        .withName(words[1])
                        .withPlacement(Placement.on(words[2]))
                        .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC);
                handles.put(words[1], lite.memory().malloc(spec));
                yield "created";
            }
            case "add" -> Long.toString(handle(words[1]).fetchAdd(0, 1));
            case "write" -> {
                handle(words[1]).write(8, words[2].getBytes(StandardCharsets.UTF_8));
                yield "written";
            }
            case "read" -> {
                byte[] bytes = new byte[Integer.parseInt(words[2])];
                handle(words[1]).read(8, bytes);
                yield new String(bytes, StandardCharsets.UTF_8);
            }
            case "lock" -> {
                try (HeldLock held = lite.sync().lock(words[1]).acquire(deadline)) {
                    yield held.isHeld() ? "held" : "lost";
                }
            }
            case "serve" -> {
                lite.rpc()
                        .register(
                                words[1],
                                1,
                                call -> MemorySegment.ofArray(
                                        (words[2] + " answers").getBytes(StandardCharsets.UTF_8)));
                yield "served";
            }
            case "call" ->
                new String(lite.rpc().call(words[1], words[2], new byte[] {1}, deadline), StandardCharsets.UTF_8);
            case "exists" -> Boolean.toString(Files.exists(Path.of(words[1])));
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private LmrHandle handle(String name) {
        return handles.computeIfAbsent(
                name, missing -> lite.memory().map(missing, Permission.READ, Permission.WRITE, Permission.ATOMIC));
    }
}
