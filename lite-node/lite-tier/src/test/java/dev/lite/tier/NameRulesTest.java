package dev.lite.tier;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.tier.NameRules.Use;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class NameRulesTest {

    private static boolean fits(String pattern, String name) {
        return NameRules.of(List.of(pattern), Map.of()).allow(Use.MAP, name);
    }

    @Test
    void aPatternIsANameOrEndsWithOneOrTwoStars() {
        assertThat(fits("shop", "shop")).isTrue();
        assertThat(fits("shop", "shops")).isFalse();
        assertThat(fits("shop/*", "shop/a")).isTrue();
        assertThat(fits("shop/*", "shop/a/b")).isFalse();
        assertThat(fits("shop/or*", "shop/orders")).isTrue();
        assertThat(fits("shop/**", "shop/a/b")).isTrue();
        assertThat(fits("shop/**", "shop/")).isFalse();
        assertThat(fits("shop/**", "shop")).isFalse();
        assertThat(fits("shop/**", "shop/../bank")).isTrue(); // names are no paths
        assertThat(fits("shop/**", "Shop/a")).isFalse();
        assertThat(fits("**", "anything at all")).isTrue();
        for (String bad : List.of("", " ", "a/*/b", "***", "*a")) {
            assertThatThrownBy(() -> fits(bad, "a"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("\"" + bad + "\" is not a pattern of names");
        }
    }

    @Test
    void furtherPatternsHoldForTheirUseOnly() {
        NameRules rules = NameRules.of(List.of("shop/**"), Map.of(Use.CALL, List.of("bank/pay")));
        assertThat(rules.allow(Use.CALL, "bank/pay")).isTrue();
        assertThat(rules.allow(Use.CALL, "shop/a")).isTrue();
        for (Use use : Use.values()) {
            assertThat(rules.allow(use, "bank/pay")).isEqualTo(use == Use.CALL);
            assertThat(rules.allow(use, "bank/other")).isFalse();
        }
        assertThat(NameRules.of(List.of(), Map.of(Use.CALL, List.of()))).isSameAs(NameRules.ALL);
        assertThat(NameRules.ALL.allow(Use.SERVE, "bank/other")).isTrue();
    }

    @Test
    void aPatternThatNoNameCanFitIsRefused() {
        for (String never : List.of("a\nb", "shop/\t*", "x".repeat(513), "x".repeat(512) + "**")) {
            assertThatThrownBy(() -> fits(never, "a"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageMatching("the LMR name .*(U\\+00|the limit is 512).*");
        }
        assertThat(fits("x".repeat(512), "x".repeat(512))).isTrue();
        assertThat(fits("x".repeat(511) + "*", "x".repeat(512))).isTrue();
        assertThat(fits(" *", " a")).isTrue();
    }
}
