package dev.lite.samples.ordercounter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** The settings, and the example of them in the README. */
class OrderPropertiesTests {

    private static final Pattern SETTING = Pattern.compile("--(order-counter\\.\\w+)=(\\w+)");

    private static OrderProperties bound(Map<String, String> settings) {
        return new Binder(new MapConfigurationPropertySource(settings))
                .bindOrCreate("order-counter", OrderProperties.class);
    }

    @Test
    void theStockIsEnoughForAllOrdersOfAllShopsAlsoInTheExampleOfTheReadme() throws IOException {
        Map<String, String> settings = new HashMap<>();
        SETTING.matcher(Files.readString(Path.of("README.md")))
                .results()
                .forEach(setting -> settings.put(setting.group(1), setting.group(2)));
        assertThat(settings).isNotEmpty();

        assertThat(bound(Map.of())).satisfies(OrderPropertiesTests::requireEnough);
        assertThat(bound(settings)).satisfies(OrderPropertiesTests::requireEnough);
    }

    private static void requireEnough(OrderProperties properties) {
        assertThat(properties.pieces())
                .isGreaterThanOrEqualTo(properties.shops() * properties.orders() * Shop.PIECES_MAX);
    }

    @Test
    void aShopPlacesAtLeastTwoOrdersOfAnArticleBecauseASingleOneCannotComeTooLate() {
        assertThat(bound(Map.of("order-counter.orders", "2")).orders()).isEqualTo(2);
        assertThatThrownBy(() -> bound(Map.of("order-counter.orders", "1")))
                .hasRootCauseMessage("order-counter.orders is 1; it must be at least 2");
    }

    @Test
    void thereAreArticlesAndShops() {
        assertThatThrownBy(() -> bound(Map.of("order-counter.articles", "")))
                .hasRootCauseMessage("order-counter.articles is empty; it must have at least 1 entry");
        assertThatThrownBy(() -> bound(Map.of("order-counter.shops", "0")))
                .hasRootCauseMessage("order-counter.shops is 0; it must be at least 1");
        assertThatThrownBy(() -> bound(Map.of("order-counter.pieces", "-1")))
                .hasRootCauseMessage("order-counter.pieces is -1; it must be at least 0");
    }
}
