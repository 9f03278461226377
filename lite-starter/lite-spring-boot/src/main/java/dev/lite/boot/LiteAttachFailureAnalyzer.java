package dev.lite.boot;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.SessionLostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains why the application could not attach to its node, at which socket, and what to do. */
final class LiteAttachFailureAnalyzer extends AbstractFailureAnalyzer<LiteAttachFailedException> {
    private static final String CONTAINER = " In a container mount the socket's directory, not the socket itself.";
    private static final Pattern ADVICE = Pattern.compile("; check [^;]*");

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, LiteAttachFailedException cause) {
        Path socket = cause.socket();
        Throwable reason = cause.getCause();
        String why = String.valueOf(reason == null ? cause.getMessage() : reason.getMessage());
        String description =
                "The application could not attach to this host's LITE node%s (property lite.client.socket): %s"
                        .formatted(
                                why.contains(socket.toString()) ? "" : " by the Unix socket " + socket,
                                withoutAdvice(why));
        return new FailureAnalysis(description, action(socket, reason), cause);
    }

    /** The action has it. With alternative sockets, there is one for each. */
    private static String withoutAdvice(String why) {
        return ADVICE.matcher(why).replaceAll("");
    }

    private static String action(Path socket, @Nullable Throwable reason) {
        String disable = " To run without LITE set lite.client.enabled=false.";
        if (reason instanceof SessionLostException) {
            return "The node refused this application: compare lite.client.token and the user id with the node's lite.node.principals."
                    + disable;
        }
        if (reason instanceof LiteTimeoutException) {
            return "The node accepted the connection but did not answer in time: check its log and health, or raise lite.client.deadline."
                    + disable;
        }
        if (reason instanceof LimitExceededException) {
            return "The node has no place for another application: end one that is attached, or raise lite.node.limits.sessions."
                    + disable;
        }
        if (!Files.exists(socket)) {
            return "There is no such file. Start a lite-node on this host, or set lite.client.socket to the socket of a running one."
                    + CONTAINER
                    + " To wait for the node set lite.client.start-deadline."
                    + disable;
        }
        return "Check that the lite-node of this host runs (a killed one leaves its socket file behind) and that this user has write permission on the socket."
                + CONTAINER
                + disable;
    }
}
