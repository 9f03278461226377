package dev.lite.cli;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** {@code lite names}: the names that a completion script offers, a line for each. */
@Command(
        name = "names",
        description = "Prints names of nodes, LMRs or processes for the completion of command lines.",
        hidden = true,
        mixinStandardHelpOptions = true)
final class NamesCommand implements Runnable {
    private static final int NAMES_MAX = 100;

    @Mixin
    private final ManagerOptions options = new ManagerOptions();

    @Parameters(index = "0", paramLabel = "KIND", description = "nodes, lmrs or processes")
    private String kind = "";

    @Parameters(index = "1", arity = "0..1", paramLabel = "PREFIX", defaultValue = "", description = "Their prefix")
    private String prefix = "";

    @Option(
            names = "--name",
            paramLabel = "NAME",
            description = "The cluster whose processes are meant. Default: " + LocalCommand.OfCluster.NAME_DEFAULT)
    private @Nullable String name;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public void run() {
        if (name != null && !kind.equalsIgnoreCase("processes")) {
            throw new IllegalArgumentException(
                    "--name is \"%s\"; only processes have it, not %s".formatted(name, kind));
        }
        List<String> names = switch (kind.toLowerCase(Locale.ROOT)) {
            case "nodes" -> ask("/api/nodes");
            case "lmrs" -> ask("/api/lmrs?limit=%d&prefix=%s".formatted(NAMES_MAX, ManagerClient.encoded(prefix)));
            case "processes" -> {
                String cluster = name == null ? LocalCommand.OfCluster.NAME_DEFAULT : name;
                LocalClusters.checkName("--name", cluster);
                yield LocalClusters.here().detached(cluster).names();
            }
            default ->
                throw new IllegalArgumentException(
                        "KIND is \"%s\"; it must be nodes, lmrs or processes".formatted(kind));
        };
        if (spec != null) {
            // A name with a line break cannot be completed.
            names.stream()
                    .filter(found -> found.startsWith(prefix) && found.lines().count() == 1)
                    .forEach(spec.commandLine().getOut()::println);
            spec.commandLine().getOut().flush();
        }
    }

    private List<String> ask(String path) {
        try (ManagerClient manager = options.open()) {
            JsonNode answer = manager.get(path);
            JsonNode items = answer.isArray() ? answer : answer.path("items");
            return items.valueStream().map(item -> item.path("name").asString()).toList();
        }
    }
}
