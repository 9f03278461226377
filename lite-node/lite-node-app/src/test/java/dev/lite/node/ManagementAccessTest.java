package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.servlet.ServletException;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.mock.web.MockFilterChain;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

class ManagementAccessTest {
    private static final String TOKEN = "0123456789abcdef";

    private static NodeProperties bind(Map<String, String> properties) {
        return new Binder(new MapConfigurationPropertySource(properties))
                .bindOrCreate("lite.node", NodeProperties.class);
    }

    private static int status(
            Map<String, String> properties, String address, String path, @Nullable String authorization)
            throws ServletException, IOException {
        MockHttpServletRequest request = new MockHttpServletRequest("GET", path);
        request.setServletPath(path);
        request.setRemoteAddr(address);
        return status(request, properties, authorization);
    }

    private static int status(
            MockHttpServletRequest request, Map<String, String> properties, @Nullable String authorization)
            throws ServletException, IOException {
        if (authorization != null) {
            request.addHeader("Authorization", authorization);
        }
        MockHttpServletResponse response = new MockHttpServletResponse();
        new ManagementAccess(bind(properties), "/actuator").doFilter(request, response, new MockFilterChain());
        return response.getStatus();
    }

    @ParameterizedTest
    @CsvSource({
        "127.0.0.1, /actuator/lite, 200",
        "::1, /actuator/prometheus, 200",
        "10.1.2.3, /actuator/lite, 401",
        "10.1.2.3, /actuator/prometheus, 401",
        "10.1.2.3, /actuator/healthy, 401",
        "10.1.2.3, /actuator/health, 200",
        "10.1.2.3, /actuator/health/readiness, 200"
    })
    void withoutATokenOtherHostsSeeOnlyHealth(String address, String path, int status)
            throws ServletException, IOException {
        assertThat(status(Map.of(), address, path, null)).isEqualTo(status);
        assertThat(status(Map.of(), address, path, "Bearer ")).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({"localhost, 200", "127.0.0.1, 200", "::1, 200", "rebound.example, 403", "10.1.2.3, 403"})
    void aPageOfAnotherSiteCannotReadThroughABrowserOfThisHost(String host, int status)
            throws ServletException, IOException {
        MockHttpServletRequest request = new MockHttpServletRequest("GET", "/actuator/lite");
        request.setServletPath("/actuator/lite");
        request.setRemoteAddr("127.0.0.1");
        request.setServerName(host);
        MockHttpServletResponse response = new MockHttpServletResponse();
        new ManagementAccess(bind(Map.of()), "/actuator").doFilter(request, response, new MockFilterChain());
        assertThat(response.getStatus()).isEqualTo(status);
    }

    @Test
    void otherHostsSeeEverythingWithTheToken() throws ServletException, IOException {
        Map<String, String> properties = Map.of("lite.node.management.token", TOKEN);
        assertThat(status(properties, "10.1.2.3", "/actuator/lite", "Bearer " + TOKEN))
                .isEqualTo(200);
        assertThat(status(properties, "10.1.2.3", "/actuator/lite", "Bearer " + TOKEN + "x"))
                .isEqualTo(401);
        assertThat(status(properties, "10.1.2.3", "/actuator/lite", null)).isEqualTo(401);
    }

    /** An operator may expose further endpoints, which do not ask for the token themselves. */
    @ParameterizedTest
    @CsvSource({
        "GET, /actuator/loggers/ROOT, 200",
        "HEAD, /actuator/loggers/ROOT, 200",
        "OPTIONS, /actuator/loggers/ROOT, 200",
        "POST, /actuator/loggers/ROOT, 403",
        "DELETE, /actuator/caches, 403",
        "POST, /actuator/health, 403"
    })
    void aProcessOfThisHostChangesNothingWithoutTheToken(String method, String path, int status)
            throws ServletException, IOException {
        Map<String, String> properties = Map.of("lite.node.management.token", TOKEN);
        assertThat(status(method, properties, path, null)).isEqualTo(status);
        assertThat(status(method, properties, path, "Bearer " + TOKEN + "x")).isEqualTo(status);
        assertThat(status(method, properties, path, "Bearer " + TOKEN)).isEqualTo(200);
        assertThat(status(method, Map.of(), path, null))
                .as("without a configured token")
                .isEqualTo(200);
    }

    /** A browser sends some requests without asking first, such as a form without fields to an endpoint that stops the node. */
    @ParameterizedTest
    @CsvSource({
        "https://evil.example, 403",
        "http://localhost:80, 403",
        "http://evil.example/localhost:7410, 403",
        "http://evillocalhost:7410, 403",
        "null, 403",
        "http://localhost:7410, 200",
        "https://LOCALHOST:7410, 200"
    })
    void aPageOfAnotherSiteChangesNothingThroughABrowserOfThisHost(String origin, int status)
            throws ServletException, IOException {
        for (String method : List.of("POST", "GET")) {
            MockHttpServletRequest request = new MockHttpServletRequest(method, "/actuator/shutdown");
            request.setServletPath("/actuator/shutdown");
            request.addHeader("Host", "localhost:7410");
            request.addHeader("Origin", origin);
            assertThat(status(request, Map.of(), null)).as(method).isEqualTo(method.equals("GET") ? 200 : status);
        }
    }

    private static int status(
            String method, Map<String, String> properties, String path, @Nullable String authorization)
            throws ServletException, IOException {
        MockHttpServletRequest request = new MockHttpServletRequest(method, path);
        request.setServletPath(path);
        return status(request, properties, authorization);
    }

    @ParameterizedTest
    @CsvSource({
        "/manage, /manage/health/liveness, 200",
        "/manage, /manage/info, 200",
        "/manage, /manage/lite, 401",
        "/manage, /actuator/health, 401",
        "/manage/, /manage/health, 200",
        "/, /health, 200",
        "/, /lite, 401"
    })
    void theProbesOfOtherHostsFollowTheBasePathOfTheEndpoints(String basePath, String path, int status)
            throws ServletException, IOException {
        MockHttpServletRequest request = new MockHttpServletRequest("GET", path);
        request.setServletPath(path);
        request.setRemoteAddr("10.1.2.3");
        MockHttpServletResponse response = new MockHttpServletResponse();
        new ManagementAccess(bind(Map.of()), basePath).doFilter(request, response, new MockFilterChain());
        assertThat(response.getStatus()).isEqualTo(status);
    }

    @Test
    void aLongBodyAndOneWithoutItsLengthAreRefused() throws ServletException, IOException {
        for (int bytes : new int[] {1 << 16, (1 << 16) + 1}) {
            MockHttpServletRequest request = new MockHttpServletRequest("POST", "/actuator/liteqos");
            request.setServletPath("/actuator/liteqos");
            request.setContent(new byte[bytes]);
            MockHttpServletResponse response = new MockHttpServletResponse();
            new ManagementAccess(bind(Map.of()), "/actuator").doFilter(request, response, new MockFilterChain());
            assertThat(response.getStatus()).isEqualTo(bytes == 1 << 16 ? 200 : 413);
            request.addHeader("Transfer-Encoding", "chunked");
            response = new MockHttpServletResponse();
            new ManagementAccess(bind(Map.of()), "/actuator").doFilter(request, response, new MockFilterChain());
            assertThat(response.getStatus()).isEqualTo(411);
        }
    }

    @Test
    void aShortTokenIsRefusedAndNoTokenIsPrinted() {
        assertThatThrownBy(() -> bind(Map.of("lite.node.management.token", "short")))
                .isInstanceOf(BindException.class)
                .rootCause()
                .hasMessage("lite.node.management.token has 5 characters; it must have at least 16");
        for (String token : List.of(TOKEN + "\n", TOKEN + " ", "0123456789äbcdef")) {
            assertThatThrownBy(() -> bind(Map.of("lite.node.management.token", token)))
                    .as("no header can carry it")
                    .isInstanceOf(BindException.class)
                    .rootCause()
                    .hasMessage("lite.node.management.token must consist of visible ASCII characters");
        }
        assertThat(bind(Map.of("lite.node.management.token", TOKEN)).toString()).doesNotContain(TOKEN);
    }
}
