package dev.lite.cli;

import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Options for connecting to the managers and for the output format. */
final class ManagerOptions {
    /** The only option that may also precede the command. */
    static final String MANAGER = "--manager";

    private static final String DEFAULT = "http://127.0.0.1:7400";
    private static final int PORT_MAX = 65_535;

    @Option(
            names = MANAGER,
            paramLabel = "URL",
            description =
                    "The URLs of one or more managers, separated by commas; the first that responds is used. Default: LITE_MANAGER, else the cluster started by \"up\", else "
                            + DEFAULT)
    private @Nullable String managers;

    @Spec(Spec.Target.MIXEE)
    private @Nullable CommandSpec command;

    // No option for the token itself: every user of the host can read a command line.
    @Option(
            names = "--token-file",
            paramLabel = "FILE",
            description =
                    "A file with the manager's token. Default: LITE_TOKEN_FILE, or the token itself in LITE_TOKEN")
    private @Nullable Path tokenFile;

    @Option(names = "--json", description = "Prints the manager's JSON")
    private boolean json;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "10",
            description = "The timeout of one request. Default: ${DEFAULT-VALUE}")
    private int timeoutSeconds = 10;

    boolean json() {
        return json;
    }

    /** Opens a client for the selected managers. */
    ManagerClient open() {
        if (timeoutSeconds < 1 || timeoutSeconds > 3600) {
            throw new IllegalArgumentException("--timeout is %d; it must be 1 to 3600".formatted(timeoutSeconds));
        }
        Map<String, String> environment = System.getenv();
        List<URI> uris = uris(managers(environment));
        String token = token(environment);
        if (token != null) {
            uris.stream().filter(ManagerOptions::isExposed).findFirst().ifPresent(this::warnOfToken);
        }
        return new ManagerClient(uris, token, Duration.ofSeconds(timeoutSeconds));
    }

    /** Whether others on the network can read what is sent. No name but "localhost" counts as this host. */
    private static boolean isExposed(URI manager) {
        if (!"http".equals(manager.getScheme()) || "localhost".equalsIgnoreCase(manager.getHost())) {
            return false;
        }
        try {
            return !InetAddress.ofLiteral(manager.getHost()).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return true; // a name
        }
    }

    private void warnOfToken(URI manager) {
        if (command != null) {
            command.commandLine()
                    .getErr()
                    .println(
                            "lite: warning: the token is sent to %s unencrypted; others on the network can read it. Use https"
                                    .formatted(manager));
        }
    }

    private String managers(Map<String, String> environment) {
        if (managers != null) {
            return managers;
        }
        String before = beforeCommand();
        if (before != null) {
            return before;
        }
        String given = environment.get("LITE_MANAGER");
        return given != null && !given.isBlank()
                ? given
                : LocalClusters.here().onlyUrl().orElse(DEFAULT);
    }

    private @Nullable String beforeCommand() {
        return command != null && command.root().userObject() instanceof LiteCommand lite ? lite.managers() : null;
    }

    private static List<URI> uris(String list) {
        return Arrays.stream(list.split(","))
                .map(String::strip)
                .filter(url -> !url.isEmpty())
                .map(ManagerOptions::uri)
                .toList();
    }

    private static URI uri(String url) {
        try {
            URI uri = new URI(url.endsWith("/") ? url.substring(0, url.length() - 1) : url);
            if (uri.getHost() != null
                    && uri.getPort() <= PORT_MAX
                    && ("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))) {
                return uri;
            }
        } catch (URISyntaxException e) {
            throw malformed(url);
        }
        throw malformed(url);
    }

    private static IllegalArgumentException malformed(String url) {
        return new IllegalArgumentException(
                "--manager has the URL \"%s\"; it must be http://HOST:PORT or https://HOST:PORT".formatted(url));
    }

    private @Nullable String token(Map<String, String> environment) {
        String inEnvironment = environment.get("LITE_TOKEN_FILE");
        Path file = tokenFile != null || inEnvironment == null ? tokenFile : Path.of(inEnvironment);
        if (file == null) {
            String token = environment.get("LITE_TOKEN");
            return token == null ? null : checked("LITE_TOKEN", token);
        }
        try {
            return checked("the token in " + file, Files.readString(file).strip());
        } catch (IOException e) {
            throw new CommandFailedException(
                    ExitStatus.FAILED, "cannot read the token in %s: %s".formatted(file, IoReasons.of(e)), e);
        }
    }

    /** Java's client would name the whole value of the header in its message. */
    private static String checked(String what, String token) {
        if (!token.chars().allMatch(character -> character > ' ' && character < 0x7F)) {
            throw new CommandFailedException(
                    ExitStatus.FAILED, what + " has a character that is not visible ASCII, which no header can carry");
        }
        return token;
    }
}
