package dev.lite.cli;

import dev.lite.api.Lite;
import dev.lite.api.NodeUnreachableException;
import dev.lite.local.DetachedCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options for attaching to a node on this machine, as an application does. */
final class SessionOptions {
    private static final String APPLICATION = "lite";
    private static final int TIMEOUT_SECONDS_MAX = 3600;

    @Option(
            names = "--socket",
            paramLabel = "FILE",
            description =
                    "The socket of a node on this machine. Default: LITE_CLIENT_SOCKET, else a node of the cluster started by \"up\"")
    private @Nullable Path socket;

    @Option(
            names = "--name",
            paramLabel = "NAME",
            defaultValue = "local",
            description = "The name of the cluster started by \"up\". Default: ${DEFAULT-VALUE}")
    private String cluster = "local";

    @Option(
            names = "--node",
            paramLabel = "NODE",
            defaultValue = "node-1",
            description = "The node of that cluster. Default: ${DEFAULT-VALUE}")
    private String node = "node-1";

    // No option for the token itself: every user of the host can read a command line.
    @Option(
            names = "--token-file",
            paramLabel = "FILE",
            description =
                    "A file with the token of an application, if the node requires one. Default: the token in LITE_CLIENT_TOKEN")
    private @Nullable Path tokenFile;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "10",
            description = "The timeout of one operation. Default: ${DEFAULT-VALUE}")
    private int timeoutSeconds = 10;

    /**
     * Attaches; the caller closes the session.
     *
     * @throws CommandFailedException when no node can be reached
     */
    Lite attach() {
        if (timeoutSeconds < 1 || timeoutSeconds > TIMEOUT_SECONDS_MAX) {
            throw new IllegalArgumentException(
                    "--timeout is %d; it must be 1 to %d".formatted(timeoutSeconds, TIMEOUT_SECONDS_MAX));
        }
        LocalClusters.checkName("--name", cluster);
        Map<String, String> environment = System.getenv();
        String token = token(environment);
        Path path = socket(environment);
        try {
            return Lite.attach(Lite.AttachOptions.to(path, APPLICATION)
                    .withToken(token)
                    .withDeadline(Duration.ofSeconds(timeoutSeconds)));
        } catch (NodeUnreachableException e) {
            throw new CommandFailedException(ExitStatus.UNREACHABLE, String.valueOf(e.getMessage()), e);
        }
    }

    /** The sockets for other processes of the same job: the one that was given, else those of all running nodes of the cluster. */
    List<Path> sockets() {
        Map<String, String> environment = System.getenv();
        Path mine = socket(environment);
        if (socket != null || isGiven(environment)) {
            return List.of(mine);
        }
        DetachedCluster local = LocalClusters.here().detached(cluster);
        return local.names().stream()
                .map(process -> local.addresses(process).getProperty("socket"))
                .filter(Objects::nonNull)
                .map(Path::of)
                .toList();
    }

    /** The file with the token, if there is one. */
    Optional<Path> tokenFile() {
        return Optional.ofNullable(tokenFile);
    }

    private static boolean isGiven(Map<String, String> environment) {
        return !environment.getOrDefault("LITE_CLIENT_SOCKET", "").isBlank();
    }

    private Path socket(Map<String, String> environment) {
        if (socket != null) {
            return socket;
        }
        if (isGiven(environment)) {
            return Path.of(environment.getOrDefault("LITE_CLIENT_SOCKET", ""));
        }
        LocalClusters clusters = LocalClusters.here();
        if (clusters.find(cluster).isEmpty()) {
            throw new CommandFailedException(
                    ExitStatus.UNREACHABLE,
                    "no node is known, and no cluster \"%s\" was started here: give --socket or LITE_CLIENT_SOCKET, or start a cluster with: lite up%s"
                            .formatted(cluster, clusters.others()));
        }
        String found = clusters.detached(cluster).addresses(node).getProperty("socket");
        if (found == null) {
            throw new CommandFailedException(
                    ExitStatus.UNREACHABLE,
                    "%s of the cluster \"%s\" does not run or is not ready".formatted(node, cluster));
        }
        return Path.of(found);
    }

    private @Nullable String token(Map<String, String> environment) {
        if (tokenFile == null) {
            return environment.get("LITE_CLIENT_TOKEN");
        }
        try {
            return Files.readString(tokenFile).strip();
        } catch (IOException e) {
            throw new CommandFailedException(
                    ExitStatus.FAILED, "cannot read the token in %s: %s".formatted(tokenFile, IoReasons.of(e)), e);
        }
    }
}
