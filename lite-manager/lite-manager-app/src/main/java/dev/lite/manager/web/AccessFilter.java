package dev.lite.manager.web;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.web.filter.OncePerRequestFilter;
import tools.jackson.databind.json.JsonMapper;

/**
 * Admits authorized requests only.
 *
 * <p>If tokens are configured, every request except the probes must send one. A reader may only look: it makes no changes, and of the
 * Actuator endpoints it sees those that show no secrets. Without a token the manager is bound to
 * loopback, and the remaining risk is a browser on this host: so requests for another host name (DNS rebinding) and changes
 * requested by pages of other sites (CSRF) are refused.
 */
final class AccessFilter extends OncePerRequestFilter {
    private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS", "TRACE");
    /** Actuator endpoints that a reader may see. */
    private static final Set<String> READABLE = Set.of("health", "info", "metrics", "prometheus");
    /** The first parts of the other paths. */
    private static final Set<String> OTHERS = Set.of("", "api", "error");

    private static final long BODY_BYTES_MAX = 65_536;

    private final AccessTokens tokens;
    private final Audit audit;
    /** The path of the Actuator endpoints, without a slash at its end. */
    private final String actuator;

    private final Set<String> probes;
    private final JsonMapper json;

    /** @param actuator the path of the Actuator endpoints; the probes below it need no token */
    AccessFilter(AccessTokens tokens, Audit audit, String actuator, JsonMapper json) {
        this.tokens = tokens;
        this.audit = audit;
        this.actuator = actuator.endsWith("/") ? actuator.substring(0, actuator.length() - 1) : actuator;
        this.probes = Set.of(this.actuator + "/health/liveness", this.actuator + "/health/readiness");
        this.json = json;
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        if (probes.contains(
                request.getRequestURI().substring(request.getContextPath().length()))) {
            chain.doFilter(request, response);
            return;
        }
        Client client = tokens.isEmpty() ? Client.LOCAL : tokens.clientOf(request.getHeader(HttpHeaders.AUTHORIZATION));
        ProblemDetail refusal = refusalOf(request, client);
        if (refusal == null && client != null) {
            admitted(client, request, response, chain);
        } else if (refusal != null) {
            audit.refused(client, request, refusal.getStatus());
            refuse(refusal, response);
        }
    }

    private void admitted(Client client, HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        client.sends(request);
        boolean answered = false;
        try {
            chain.doFilter(request, response);
            answered = true;
        } finally {
            if (!READING.contains(request.getMethod())) {
                // The server sets the status of a request that failed with an exception only later.
                audit.answered(
                        client,
                        request,
                        answered ? response.getStatus() : HttpServletResponse.SC_INTERNAL_SERVER_ERROR);
            }
        }
    }

    private void refuse(ProblemDetail refusal, HttpServletResponse response) throws IOException {
        if (refusal.getStatus() == HttpStatus.UNAUTHORIZED.value()) {
            // The second header makes a browser show a login dialog.
            response.addHeader(HttpHeaders.WWW_AUTHENTICATE, "Bearer realm=\"lite\"");
            response.addHeader(HttpHeaders.WWW_AUTHENTICATE, "Basic realm=\"lite\", charset=\"UTF-8\"");
        }
        response.setStatus(refusal.getStatus());
        response.setContentType(MediaType.APPLICATION_PROBLEM_JSON_VALUE);
        json.writeValue(response.getOutputStream(), refusal);
    }

    private @Nullable ProblemDetail refusalOf(HttpServletRequest request, @Nullable Client client) {
        if (client == null) {
            return refusal(
                    HttpStatus.UNAUTHORIZED,
                    "this manager requires a token: send Authorization: Bearer TOKEN, or log in with the token as password");
        }
        if (tokens.isEmpty() && !isLoopback(request.getServerName())) {
            return refusal(
                    HttpStatus.FORBIDDEN,
                    "the request is for the host \"%s\"; without a token (lite.manager.token) only localhost and loopback addresses are allowed"
                            .formatted(request.getServerName()));
        }
        boolean reads = READING.contains(request.getMethod());
        if (client.role() == Role.READER && !(reads && mayRead(request))) {
            return refusal(HttpStatus.FORBIDDEN, Refusals.readsOnlyText(client));
        }
        return reads ? null : refusalOfAct(request);
    }

    /** The decoded path decides, like the one that selects the endpoint. */
    private boolean mayRead(HttpServletRequest request) {
        String info = request.getPathInfo();
        String path = request.getServletPath() + (info == null ? "" : info);
        if (!path.startsWith(actuator + "/")) {
            return true;
        }
        String first = path.substring(actuator.length() + 1).split("/", 2)[0];
        return READABLE.contains(first) || (actuator.isEmpty() && OTHERS.contains(first));
    }

    private static @Nullable ProblemDetail refusalOfAct(HttpServletRequest request) {
        String origin = request.getHeader(HttpHeaders.ORIGIN);
        if (origin != null && !isOwn(origin, request.getHeader(HttpHeaders.HOST))) {
            return refusal(
                    HttpStatus.FORBIDDEN,
                    "the request comes from a page of %s; only pages of this manager may make changes"
                            .formatted(origin));
        }
        if (request.getHeader(HttpHeaders.TRANSFER_ENCODING) != null) {
            return refusal(HttpStatus.LENGTH_REQUIRED, "the request has no Content-Length");
        }
        long limit = isContent(request) ? DataController.CONTENT_BYTES_MAX : BODY_BYTES_MAX;
        if (request.getContentLengthLong() > limit) {
            return refusal(
                    HttpStatus.CONTENT_TOO_LARGE,
                    "the request's body has %d bytes; the limit is %d"
                            .formatted(request.getContentLengthLong(), limit));
        }
        return null;
    }

    /** Whether the body is the content of an LMR, which is not read into memory as a whole. */
    private static boolean isContent(HttpServletRequest request) {
        return request.getMethod().equals("PUT") && request.getRequestURI().endsWith("/content");
    }

    /** The scheme may differ: a proxy may terminate TLS. */
    private static boolean isOwn(String origin, @Nullable String host) {
        try {
            return host != null && host.equalsIgnoreCase(URI.create(origin).getRawAuthority());
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static boolean isLoopback(String host) {
        if (host.equalsIgnoreCase("localhost")) {
            return true;
        }
        try {
            return InetAddress.ofLiteral(host).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return false; // a name, which is not resolved
        }
    }

    private static ProblemDetail refusal(HttpStatus status, String detail) {
        return ProblemDetail.forStatusAndDetail(status, detail);
    }
}
