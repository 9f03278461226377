package dev.lite.cluster.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProcessUrlsTest {
    private final Map<String, String> properties = new HashMap<>(Map.of("local.server.port", "7410"));

    private final ProcessUrls urls = new ProcessUrls(properties::get);

    @Test
    void aServerWithoutSettingsUsesLoopbackAndHttp() {
        assertThat(urls.base()).isEqualTo("http://127.0.0.1:7410");
        assertThat(urls.health()).isEqualTo("http://127.0.0.1:7410/actuator/health");
    }

    @Test
    void aServerWithACertificateUsesHttps() {
        properties.put("server.ssl.bundle", "web");
        properties.put("server.address", "10.0.0.1");
        properties.put("local.management.port", "7410");
        assertThat(urls.base()).isEqualTo("https://10.0.0.1:7410");
        assertThat(urls.health()).isEqualTo("https://10.0.0.1:7410/actuator/health");
    }

    @Test
    void disabledEncryptionMeansHttp() {
        properties.put("server.ssl.bundle", "web");
        properties.put("server.ssl.enabled", "false");
        assertThat(urls.base()).isEqualTo("http://127.0.0.1:7410");
    }

    @Test
    void aManagementPortInheritsAddressAndEncryptionOfTheServerUnlessConfigured() {
        properties.put("server.ssl.key-store", "server.p12");
        properties.put("server.address", "::");
        properties.put("local.management.port", "7411");
        assertThat(urls.health()).isEqualTo("https://127.0.0.1:7411/actuator/health");
        properties.put("management.server.address", "::1");
        properties.put("management.server.ssl.enabled", "false");
        assertThat(urls.health()).isEqualTo("http://[::1]:7411/actuator/health");
        assertThat(urls.base()).isEqualTo("https://127.0.0.1:7410");
    }

    @Test
    void aManagementPortMayBeEncryptedAlone() {
        properties.put("local.management.port", "7411");
        properties.put("management.server.ssl.certificate", "node.pem");
        assertThat(urls.health()).isEqualTo("https://127.0.0.1:7411/actuator/health");
        assertThat(urls.base()).isEqualTo("http://127.0.0.1:7410");
    }

    @Test
    void configuredPathsArePartOfTheUrls() {
        properties.put("management.endpoints.web.base-path", "/manage");
        properties.put("server.servlet.context-path", "/lite");
        properties.put("management.server.base-path", "/admin");
        assertThat(urls.health()).isEqualTo("http://127.0.0.1:7410/lite/manage/health");
        assertThat(urls.base()).isEqualTo("http://127.0.0.1:7410/lite");
        properties.put("local.management.port", "7411");
        assertThat(urls.health()).isEqualTo("http://127.0.0.1:7411/admin/manage/health");
    }

    @Test
    void aSlashAtTheEndOfTheBasePathDoesNotCount() {
        properties.put("management.endpoints.web.base-path", "/manage/");
        assertThat(urls.health()).isEqualTo("http://127.0.0.1:7410/manage/health");
        properties.put("management.endpoints.web.base-path", "/");
        assertThat(urls.health()).isEqualTo("http://127.0.0.1:7410/health");
    }
}
