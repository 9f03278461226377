package dev.lite.cli;

import dev.lite.testing.Misuses;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * Generates wrong command lines from the tree of commands, and checks that each one ends with the documented exit status and one clear
 * message on standard error, and prints nothing else.
 */
class CommandMisuseTest {
    private static final int LINES_MAX = 3;
    private static final int COMMANDS_LEAST = 30;
    /** Nothing listens there. */
    private static final String UNREACHABLE = "http://127.0.0.1:1";

    private static final Set<Integer> USAGE = Set.of(ExitStatus.USAGE);
    private static final Set<Integer> FAILED = Set.of(ExitStatus.FAILED);
    private static final Set<Integer> NOT_REACHED = Set.of(ExitStatus.UNREACHABLE);

    private final Misuses misuses = new Misuses("the command line");
    private FakeManager manager;

    @TempDir
    Path directory;

    @BeforeEach
    void start() throws IOException {
        manager = new FakeManager();
        Files.createDirectory(directory.resolve("folder"));
        Files.writeString(directory.resolve("file"), "content");
    }

    @AfterEach
    void stop() {
        manager.close();
    }

    @Test
    void everyWrongCommandLineIsAnsweredWithTheExitStatusAndOneClearMessage() {
        Map<String, CommandLine> commands = new TreeMap<>();
        collect(
                "",
                LiteMain.commandLine(new PrintWriter(new StringWriter()), new PrintWriter(new StringWriter())),
                commands);
        if (commands.size() < COMMANDS_LEAST) {
            misuses.fail("only %d commands: %s".formatted(commands.size(), commands.keySet()));
        }
        misuse("a command", List.of("nodse"), USAGE, "nodse", "nodes");
        misuse("a command", List.of("xyzzy"), USAGE, "xyzzy");
        misuse("a command", List.of(), USAGE, "missing command");
        misuse("a command", List.of("orders", "cancle", "7"), USAGE, "cancle", "cancel");
        commands.forEach(this::command);
        misuses.finish(500);
    }

    private static void collect(String path, CommandLine command, Map<String, CommandLine> commands) {
        command.getSubcommands().forEach((name, sub) -> {
            String its = path.isEmpty() ? name : path + " " + name;
            commands.put(its, sub);
            collect(its, sub, commands);
        });
    }

    private void command(String path, CommandLine command) {
        List<String> good = good(path, command);
        misuse("unknown option", with(good, "--no-such-option"), USAGE, "--no-such-option");
        misuse("unknown option", with(good, "-Z"), USAGE, "-Z");
        if (command.getSubcommands().isEmpty()) {
            misuse("too many parameters", with(good, "p1", "p2", "p3"), USAGE, "p3");
        }
        for (OptionSpec option : command.getCommandSpec().options()) {
            String name = option.longestName();
            if (option.usageHelp() || option.versionHelp()) {
                continue;
            }
            String misspelt = name.substring(0, name.length() - 2)
                    + name.charAt(name.length() - 1)
                    + name.charAt(name.length() - 2);
            boolean isShort = name.length() <= 5; // too short for a suggestion
            if (!misspelt.equals(name) && !isShort) {
                misuse("misspelt option", with(good, misspelt), USAGE, misspelt, name);
            }
            if (option.arity().max() == 0) {
                misuse("value for a flag", with(good, name + "=maybe"), USAGE, name, "maybe");
                continue;
            }
            misuse("option without value", with(good, name), USAGE, name);
            values(good, option, name);
        }
        missingParameters(path, command);
        badParameters(path, command);
        requiredOptions(command, good);
        managers(path, command, good);
    }

    private void requiredOptions(CommandLine command, List<String> good) {
        for (OptionSpec option : command.getCommandSpec().options()) {
            if (option.required()) {
                List<String> line = new ArrayList<>(good);
                line.remove(option.longestName() + "=good");
                misuse("missing option", line, USAGE, option.longestName());
            }
        }
    }

    /** Each bad value of an option. */
    private void values(List<String> good, ArgSpec option, String name) {
        for (String value : wrong(option.paramLabel())) {
            // A value that begins with a hyphen could be an option of its own.
            misuse("value of an option", with(good, name + "=" + value), USAGE, name, value);
        }
        if (option.paramLabel().equals("FILE") && name.equals("--token-file")) {
            for (String file : List.of("none", "folder", "none/none")) {
                String path = directory.resolve(file).toString();
                misuse("unreadable file", with(good, name, path), FAILED, path);
            }
        }
    }

    private static List<String> wrong(String label) {
        return switch (label) {
            case "SECONDS" -> List.of("x", "", "-1", "1.5", "99999999999999999999", "1000000", "10s");
            case "N" -> List.of("x", "-1", "99999999999999999999", "-9223372036854775808", "12XB");
            case "SIZE" -> List.of("x", "-1", "0", "99999999999999999999", "12XB", "1.5MB");
            case "DURATION" -> List.of("x", "-1s", "0", "0s", "99999999999999999999h", "999999999h", "5 years");
            case "URL" ->
                List.of(
                        "x",
                        "ftp://127.0.0.1",
                        "http://",
                        "http://a b",
                        "://",
                        "http://h:99999",
                        "http://h:x",
                        "127.0.0.1:7400");
            case "PERMISSION[,PERMISSION]" -> List.of("x", "read,x", ",", "READ;WRITE");
            case "NODE[,NODE]" -> List.of("a b", "node/1", ",", "node-1,,node-2");
            case "FABRIC" -> List.of("x", "shm,tcp");
            default -> List.of();
        };
    }

    private void missingParameters(String path, CommandLine command) {
        List<String> parameters = goodParameters(command);
        for (int given = 0; given < parameters.size(); given++) {
            String missing =
                    command.getCommandSpec().positionalParameters().get(given).paramLabel();
            List<String> line = new ArrayList<>(List.of(path.split(" ")));
            line.addAll(parameters.subList(0, given));
            misuse("missing parameter", line, USAGE, missing);
        }
    }

    private void badParameters(String path, CommandLine command) {
        List<PositionalParamSpec> positional = command.getCommandSpec().positionalParameters();
        List<String> parameters = goodParameters(command);
        for (int index = 0; index < parameters.size(); index++) {
            for (String value : wrongParameters(positional.get(index).paramLabel())) {
                List<String> line = new ArrayList<>(List.of(path.split(" ")));
                List<String> changed = new ArrayList<>(parameters);
                changed.set(index, value);
                line.addAll(changed);
                String shown = value.chars().anyMatch(Character::isISOControl) ? "U+000A" : shortened(value);
                misuse("parameter", line, USAGE, shown);
            }
        }
        if (path.equals("mr run")) {
            for (String file : List.of("none", "folder")) {
                String name = directory.resolve(file).toString();
                misuse("missing jar", List.of("mr", "run", name, "--input=i", "--output=o"), USAGE, name);
            }
        }
        if (path.equals("put")) {
            for (String file : List.of("none", "folder")) {
                String name = directory.resolve(file).toString();
                misuse("unreadable file", List.of("put", "shop/table", name), USAGE, name);
            }
        }
    }

    private static List<String> wrongParameters(String label) {
        return switch (label) {
            case "NAME", "LMR" -> List.of("", "  ", "a\nb", "n".repeat(700));
            case "NODE" -> List.of("", "  ", "a\nb", "node/1", "a b");
            case "PRINCIPAL" -> List.of("", "  ", "a\nb", "p".repeat(700));
            case "ID" -> List.of("x", "-1", "1.5", "99999999999999999999");
            case "PERMISSION[,PERMISSION]" -> List.of("x", "", "read,x", ",");
            case "KIND" -> List.of("x", "node");
            case "PROCESS" -> List.of("", "  ", "a\nb", "../manager");
            default -> wrong(label);
        };
    }

    /** A manager or node that cannot be reached, or knows no such name. */
    private void managers(String path, CommandLine command, List<String> good) {
        Map<String, OptionSpec> options = command.getCommandSpec().optionsMap();
        boolean continues = path.equals("watch"); // waits for its manager to return
        if (options.containsKey("--manager") && !continues && !path.equals("names")) {
            misuse("unreachable manager", with(good, "--manager", UNREACHABLE), NOT_REACHED, UNREACHABLE);
            misuse(
                    "unreachable managers",
                    with(good, "--manager", UNREACHABLE + ",http://127.0.0.1:2"),
                    NOT_REACHED,
                    UNREACHABLE,
                    "http://127.0.0.1:2");
            misuse("a manager that refuses", with(good, "--manager", manager.url()), FAILED, "the fake has no");
        }
        if (options.containsKey("--socket")) {
            for (String socket : List.of("none", "file", "folder", "x".repeat(150))) {
                String name = directory.resolve(socket).toString();
                misuse("unreachable node", with(good, "--socket", name), NOT_REACHED_OR_USAGE, shortened(name));
            }
        }
        if (options.containsKey("--name")) {
            boolean starts = path.equals("up");
            for (String name : List.of("", "a/b", "..", "a b", "n".repeat(100))) {
                misuse("name of a cluster", with(good, "--name=" + name), USAGE, shortened(name));
            }
            if (!starts) {
                Set<Integer> unknown = options.containsKey("--socket") ? NOT_REACHED : FAILED;
                misuse(
                        "unknown cluster",
                        with(good, "--name=no-such-cluster"),
                        path.equals("names") ? USAGE : unknown, // no cluster has its nodes
                        "no-such-cluster");
            }
        }
        if (options.containsKey("--manager-jar")) {
            String jar = directory.resolve("none.jar").toString();
            misuse("missing jar", with(good, "--manager-jar", jar, "--node-jar", jar), USAGE, jar);
        }
    }

    private static final Set<Integer> NOT_REACHED_OR_USAGE = Set.of(ExitStatus.UNREACHABLE, ExitStatus.USAGE);

    private static String shortened(String value) {
        return value.length() > 20 ? value.substring(0, 20) : value;
    }

    /** The command with good parameters. */
    private List<String> good(String path, CommandLine command) {
        List<String> line = new ArrayList<>(List.of(path.split(" ")));
        line.addAll(goodParameters(command));
        command.getCommandSpec().options().stream()
                .filter(OptionSpec::required)
                .forEach(option -> line.add(option.longestName() + "=good"));
        return line;
    }

    private List<String> goodParameters(CommandLine command) {
        return command.getCommandSpec().positionalParameters().stream()
                .filter(parameter -> parameter.arity().min() > 0)
                .map(parameter -> switch (parameter.paramLabel()) {
                    case "SIZE" -> "4KB";
                    case "ID" -> "7";
                    case "PERMISSION[,PERMISSION]" -> "read";
                    case "KIND" -> "nodes";
                    case "NODE", "PROCESS" -> "node-1";
                    case "PRINCIPAL" -> "shop";
                    case "JAR" -> directory.resolve("file").toString();
                    default -> "shop/table";
                })
                .toList();
    }

    private static List<String> with(List<String> line, String... more) {
        List<String> all = new ArrayList<>(line);
        all.addAll(Arrays.asList(more));
        return all;
    }

    private void misuse(String kind, List<String> line, Set<Integer> statuses, String... parts) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = LiteMain.commandLine(new PrintWriter(out, true), new PrintWriter(err, true))
                .execute(line.toArray(String[]::new));
        String problem = problem(status, out.toString(), err.toString().strip(), statuses, parts);
        misuses.add(kind, "lite " + String.join(" ", line).replace("\n", "\\n"), problem);
    }

    private static @Nullable String problem(
            int status, String out, String err, Set<Integer> statuses, String... parts) {
        if (!statuses.contains(status)) {
            return "exit status %d instead of %s: %s%s".formatted(status, statuses, err, out);
        }
        if (!out.isEmpty()) {
            return "it prints: " + out;
        }
        if (err.lines().count() > LINES_MAX) {
            return "the message has %d lines: %s".formatted(err.lines().count(), err);
        }
        return Misuses.problemOf(err.replace("\n", " | "), Arrays.asList(parts));
    }
}
