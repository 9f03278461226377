package dev.lite.node;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Guards what the node tells of applications and their memory. Requests from this host that only read need nothing, but must
 * be for this host: a page of another site can make a browser here ask a name that now means a loopback address (DNS rebinding).
 * Others see only health and info, unless they send the node's management token as {@code Authorization: Bearer TOKEN}. If a token is
 * configured, a request that may change something needs it, from wherever it comes. Without one, the remaining risk is a browser on this
 * host: so changes requested by pages of other sites (CSRF) are refused.
 */
@Component
class ManagementAccess extends OncePerRequestFilter {
    private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS");
    private static final String BEARER = "Bearer ";
    private static final int BODY_BYTES_MAX = 64 << 10;

    private final byte @Nullable [] token;
    private final String actuator;

    /** @param basePath of the actuator's endpoints */
    ManagementAccess(
            NodeProperties properties, @Value("${management.endpoints.web.base-path:/actuator}") String basePath) {
        String configured = properties.management().token();
        token = configured == null ? null : configured.getBytes(StandardCharsets.UTF_8);
        actuator = basePath.endsWith("/") ? basePath.substring(0, basePath.length() - 1) : basePath;
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        if (isPublic(request.getServletPath()) || isLocal(request) || isAuthorized(request)) {
            if (READING.contains(request.getMethod()) || mayChange(request)) {
                admitted(request, response, chain);
            } else {
                refuseChange(
                        token == null
                                ? "pages of other sites change nothing here"
                                : "a change needs the token of lite.node.management.token",
                        response);
            }
            return;
        }
        if (isFromHere(request)) {
            response.sendError(
                    HttpServletResponse.SC_FORBIDDEN,
                    "the request is for another host; from this host, only localhost and loopback addresses are allowed");
            return;
        }
        response.setHeader(HttpHeaders.WWW_AUTHENTICATE, "Bearer");
        response.sendError(
                HttpServletResponse.SC_UNAUTHORIZED,
                "requests from other hosts need the token of lite.node.management.token");
    }

    /** With a body, which the hook of a container prints: the page of an error has no text. */
    private static void refuseChange(String detail, HttpServletResponse response) throws IOException {
        response.setStatus(HttpServletResponse.SC_FORBIDDEN);
        response.setContentType(MediaType.APPLICATION_JSON_VALUE);
        response.getWriter().write("{\"status\":403,\"detail\":\"%s\"}".formatted(detail));
    }

    /** A body is read as a whole, and any process of this host may send one. */
    private static void admitted(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        if (request.getHeader(HttpHeaders.TRANSFER_ENCODING) != null) {
            response.sendError(HttpServletResponse.SC_LENGTH_REQUIRED, "the request has no Content-Length");
        } else if (request.getContentLengthLong() > BODY_BYTES_MAX) {
            response.sendError(
                    HttpServletResponse.SC_REQUEST_ENTITY_TOO_LARGE,
                    "the request's body has %d bytes; the limit is %d"
                            .formatted(request.getContentLengthLong(), BODY_BYTES_MAX));
        } else {
            chain.doFilter(request, response);
        }
    }

    private boolean isPublic(String path) {
        return path.equals(actuator + "/health")
                || path.startsWith(actuator + "/health/")
                || path.equals(actuator + "/info");
    }

    private static boolean isLocal(HttpServletRequest request) throws IOException {
        return isFromHere(request) && isForHere(request.getServerName());
    }

    /** The address is numeric, so this asks no name server. */
    private static boolean isFromHere(HttpServletRequest request) throws IOException {
        return InetAddress.getByName(request.getRemoteAddr()).isLoopbackAddress();
    }

    private static boolean isForHere(String host) {
        if (host.equalsIgnoreCase("localhost")) {
            return true;
        }
        try {
            return InetAddress.ofLiteral(host.replaceAll("[\\[\\]]", "")).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return false; // a name, which is not resolved
        }
    }

    /** Whether the request comes from this host and has the token; false if none is configured. */
    boolean mayDrain(HttpServletRequest request) throws IOException {
        return isLocal(request) && isAuthorized(request);
    }

    /** Whether the request may change what the node does: if a token is configured, it needs that, also from this host. */
    private boolean mayChange(HttpServletRequest request) {
        return token == null ? !isOfAnotherSite(request) : isAuthorized(request);
    }

    /** Whether a browser sends it for a page that does not come from this port. The scheme may differ: a proxy may terminate TLS. */
    private static boolean isOfAnotherSite(HttpServletRequest request) {
        String origin = request.getHeader(HttpHeaders.ORIGIN);
        String host = request.getHeader(HttpHeaders.HOST);
        return origin != null
                && (host == null || !origin.toLowerCase(Locale.ROOT).endsWith("://" + host.toLowerCase(Locale.ROOT)));
    }

    private boolean isAuthorized(HttpServletRequest request) {
        String header = request.getHeader(HttpHeaders.AUTHORIZATION);
        return token != null
                && header != null
                && header.startsWith(BEARER)
                && MessageDigest.isEqual(
                        header.substring(BEARER.length()).strip().getBytes(StandardCharsets.UTF_8), token);
    }
}
