package dev.lite.manager.web;

import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Epoch;
import dev.lite.os.waiting.Durations;
import java.time.Duration;
import java.util.Collection;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;

/** Exceptions for rejected requests, as problem details (RFC 9457): what, the value, and the limit. */
final class Refusals {
    private Refusals() {}

    /** A value is out of its limits. */
    static ErrorResponseException badValue(String what, Object value, String limit) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(
                HttpStatus.BAD_REQUEST, "%s is %s; it must be %s".formatted(what, value, limit));
        problem.setProperty("parameter", what);
        problem.setProperty("value", value);
        problem.setProperty("limit", limit);
        return new ErrorResponseException(HttpStatus.BAD_REQUEST, problem, null);
    }

    /** One of LITE's own checks rejected a value; its message has the value and the limit. */
    static ErrorResponseException badValue(String what, Object value, IllegalArgumentException cause) {
        ProblemDetail problem =
                ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, String.valueOf(cause.getMessage()));
        problem.setProperty("parameter", what);
        problem.setProperty("value", value);
        return new ErrorResponseException(HttpStatus.BAD_REQUEST, problem, cause);
    }

    /** The object does not exist. */
    static ErrorResponseException notFound(String kind, String name) {
        ProblemDetail problem =
                ProblemDetail.forStatusAndDetail(HttpStatus.NOT_FOUND, "there is no %s \"%s\"".formatted(kind, name));
        problem.setProperty("parameter", kind);
        problem.setProperty("value", name);
        return new ErrorResponseException(HttpStatus.NOT_FOUND, problem, null);
    }

    /** The object's state does not allow the request. */
    static ErrorResponseException conflict(String kind, Object value, String detail) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(HttpStatus.CONFLICT, detail);
        problem.setProperty("parameter", kind);
        problem.setProperty("value", value);
        return new ErrorResponseException(HttpStatus.CONFLICT, problem, null);
    }

    /** This manager is not configured for the request. */
    static ErrorResponseException noSession() {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(
                HttpStatus.NOT_IMPLEMENTED,
                "this manager has no session with a node; set lite.manager.client-socket to the socket of a node on its host");
        problem.setProperty("parameter", "lite.manager.client-socket");
        return new ErrorResponseException(HttpStatus.NOT_IMPLEMENTED, problem, null);
    }

    /** A node does not answer; the same request may succeed later. */
    static ErrorResponseException away(NodeUnreachableException cause) {
        return new ErrorResponseException(
                HttpStatus.SERVICE_UNAVAILABLE,
                ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE, String.valueOf(cause.getMessage())),
                cause);
    }

    /**
     * {@link #away} if the cluster has, or had, all these nodes; else the cause, which says that there is no
     * such node.
     */
    static RuntimeException ofNodes(
            Collection<String> nodes, ClusterDirectory directory, NodeUnreachableException cause) {
        return nodes.stream().allMatch(node -> isKnown(node, directory)) ? away(cause) : cause;
    }

    /** The epoch keeps the nodes that left. */
    private static boolean isKnown(String node, ClusterDirectory directory) {
        Epoch epoch = directory.epoch();
        return directory.nodes().stream().anyMatch(live -> live.name().equals(node))
                || epoch.members().stream().anyMatch(member -> member.name().equals(node))
                || epoch.removals().stream().anyMatch(removal -> removal.name().equals(node));
    }

    /** A body does not arrive in time. */
    static ErrorResponseException late(Duration limit) {
        return new ErrorResponseException(
                HttpStatus.REQUEST_TIMEOUT,
                ProblemDetail.forStatusAndDetail(
                        HttpStatus.REQUEST_TIMEOUT,
                        "the request's body was not complete after %s, its limit; a part of it may be written"
                                .formatted(Durations.text(limit))),
                null);
    }

    /** A reader asks for what only operators may do. */
    static ErrorResponseException readsOnly(Client client) {
        return new ErrorResponseException(
                HttpStatus.FORBIDDEN,
                ProblemDetail.forStatusAndDetail(HttpStatus.FORBIDDEN, readsOnlyText(client)),
                null);
    }

    static String readsOnlyText(Client client) {
        return "the token \"%s\" may only read the state of the cluster; this request needs the role operator"
                .formatted(client.name());
    }

    /** A limit is reached. */
    static ErrorResponseException full(String what, long value, long limit) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(
                HttpStatus.SERVICE_UNAVAILABLE, "there are %d %s; the limit is %d".formatted(value, what, limit));
        problem.setProperty("value", value);
        problem.setProperty("limit", limit);
        return new ErrorResponseException(HttpStatus.SERVICE_UNAVAILABLE, problem, null);
    }
}
