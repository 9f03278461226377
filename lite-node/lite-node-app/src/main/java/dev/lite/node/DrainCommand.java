package dev.lite.node;

import dev.lite.cluster.process.PropertyChecks;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The command of a container's preStop hook: asks the node of this container to drain, and waits until it has. The exit status is 0 if
 * the node is empty; otherwise 1, and the reason is on standard error.
 */
public final class DrainCommand {
    private static final String TOKEN = "LITE_NODE_MANAGEMENT_TOKEN";
    private static final Duration CONNECT = Duration.ofSeconds(5);

    private DrainCommand() {}

    /**
     * Runs the command.
     *
     * @param arguments the URL of the endpoint litedrain, and how many seconds to wait for its answer
     */
    public static void main(String[] arguments) {
        System.exit(run(arguments, System.getenv(TOKEN), System.err));
    }

    static int run(String[] arguments, @Nullable String token, PrintStream errors) {
        if (arguments.length != 2 || !arguments[1].matches("[1-9][0-9]{0,5}")) {
            errors.println("usage: drain URL SECONDS, with the node's management token in " + TOKEN);
            return 1;
        }
        if (token == null) {
            errors.println("drain: " + TOKEN + " is not set");
            return 1;
        }
        if (!PropertyChecks.isHeaderToken(token)) { // the message of the JDK would have the token
            errors.println("drain: " + TOKEN + " must consist of visible ASCII characters");
            return 1;
        }
        try {
            URL url = new URI(arguments[0]).toURL();
            return post(url, Duration.ofSeconds(Long.parseLong(arguments[1])), token, errors);
        } catch (URISyntaxException | IllegalArgumentException | IOException e) {
            errors.println("drain: %s: %s".formatted(arguments[0], e));
            return 1;
        }
    }

    /** Not java.net.http: this JVM should start fast, and do one thing. */
    private static int post(URL url, Duration wait, String token, PrintStream errors) throws IOException {
        if (!(url.openConnection(Proxy.NO_PROXY) instanceof HttpURLConnection connection)) {
            throw new IllegalArgumentException("it is no URL of HTTP");
        }
        connection.setConnectTimeout((int) CONNECT.toMillis());
        connection.setReadTimeout((int) wait.toMillis());
        connection.setRequestMethod("POST");
        connection.setRequestProperty("Authorization", "Bearer " + token);
        connection.setRequestProperty("Content-Type", "application/json");
        connection.setFixedLengthStreamingMode(0);
        connection.setDoOutput(true);
        connection.getOutputStream().close();
        int status = connection.getResponseCode();
        if (status == HttpURLConnection.HTTP_OK) {
            return 0;
        }
        try (InputStream body = connection.getErrorStream()) {
            String text = body == null ? "" : new String(body.readAllBytes(), StandardCharsets.UTF_8);
            errors.println("drain: %d %s".formatted(status, text));
        }
        return 1;
    }
}
