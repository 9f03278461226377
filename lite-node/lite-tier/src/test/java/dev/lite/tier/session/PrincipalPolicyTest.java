package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.os.PeerCredentials;
import dev.lite.tier.session.PrincipalPolicy.Admitted;
import dev.lite.tier.session.PrincipalPolicy.Rejected;
import dev.lite.tier.session.PrincipalPolicy.Rule;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class PrincipalPolicyTest {
    private static PeerCredentials uid(int uid) {
        return new PeerCredentials(1, uid, 1);
    }

    @Test
    void byDefaultTheUserIsThePrincipal() {
        assertThat(PrincipalPolicy.byUid().decide(uid(1000), "whatever")).isEqualTo(new Admitted("uid:1000"));
    }

    /** Otherwise the applications of all these users would be one principal, with the LMRs and the quota of each other. */
    @Test
    void usersThatTheNamespaceOfTheNodeDoesNotHaveAreNoPrincipalWithoutAToken() {
        OptionalInt others = OptionalInt.of(65534);
        PrincipalPolicy byUid = PrincipalPolicy.byUid(others);
        assertThat(byUid.decide(uid(65534), null))
                .isInstanceOfSatisfying(
                        Rejected.class, no -> assertThat(no.reason()).contains("65534", "user namespace"));
        assertThat(byUid.decide(uid(1000), null)).isEqualTo(new Admitted("uid:1000"));

        PrincipalPolicy rules = PrincipalPolicy.of(
                List.of(
                        new Rule("nobody", OptionalInt.of(65534), null),
                        new Rule("roaming", OptionalInt.empty(), "roaming-secret")),
                others);
        assertThat(rules.decide(uid(65534), null)).isInstanceOf(Rejected.class);
        assertThat(rules.decide(uid(65534), "roaming-secret")).isEqualTo(new Admitted("roaming"));
    }

    @Test
    void aRuleMatchesIfAllItsConditionsMatch() {
        PrincipalPolicy policy = PrincipalPolicy.of(List.of(
                new Rule("orders", OptionalInt.of(1000), "orders-secret"),
                new Rule("stock", OptionalInt.of(1000), "stock-secret"),
                new Rule("batch", OptionalInt.of(2000), null),
                new Rule("roaming", OptionalInt.empty(), "roaming-secret")));
        assertThat(policy.decide(uid(1000), "orders-secret")).isEqualTo(new Admitted("orders"));
        assertThat(policy.decide(uid(1000), "stock-secret")).isEqualTo(new Admitted("stock"));
        assertThat(policy.decide(uid(2000), null)).isEqualTo(new Admitted("batch"));
        assertThat(policy.decide(uid(2000), "stock-secret")).isEqualTo(new Admitted("batch"));
        assertThat(policy.decide(uid(3000), "roaming-secret")).isEqualTo(new Admitted("roaming"));
        assertThat(policy.decide(uid(3000), "orders-secret")).isInstanceOf(Rejected.class);
        assertThat(policy.decide(uid(1000), null)).isInstanceOf(Rejected.class);
    }

    @Test
    void aRefusalReportsTheUserButNoSecret() {
        PrincipalPolicy policy = PrincipalPolicy.of(List.of(new Rule("orders", OptionalInt.of(1000), "orders-secret")));
        assertThat(policy.decide(uid(1000), "guess"))
                .isInstanceOfSatisfying(
                        Rejected.class,
                        no -> assertThat(no.reason())
                                .contains("1000")
                                .doesNotContain("guess")
                                .doesNotContain("orders"));
        assertThat(new Rule("orders", OptionalInt.of(1000), "orders-secret").toString())
                .doesNotContain("secret");
    }

    @Test
    void rulesThatMatchEveryUserAreRefused() {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new Rule("all", OptionalInt.empty(), null));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new Rule("all", OptionalInt.empty(), " "));
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> PrincipalPolicy.of(List.of()));
    }

    @Test
    void aRuleThatAnEarlierOneHidesIsRefused() {
        Rule user = new Rule("shop", OptionalInt.of(1000), null);
        Rule token = new Rule("roaming", OptionalInt.empty(), "roaming-secret");
        for (List<Rule> hiding : List.of(
                List.of(user, new Rule("admin", OptionalInt.of(1000), "admin-secret")),
                List.of(user, new Rule("admin", OptionalInt.of(1000), null)),
                List.of(token, new Rule("admin", OptionalInt.of(1000), "roaming-secret")),
                List.of(token, new Rule("admin", OptionalInt.empty(), "roaming-secret")))) {
            assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(() -> PrincipalPolicy.of(hiding))
                    .withMessageContaining("lite.node.principals[1] (admin) can never match")
                    .withMessageContaining("[0] (")
                    .withMessageNotContaining("secret");
        }
        Rule admin = new Rule("admin", OptionalInt.of(1000), "admin-secret");
        assertThat(PrincipalPolicy.of(List.of(admin, user, token)).decide(uid(1000), "admin-secret"))
                .isEqualTo(new Admitted("admin"));
    }

    @Test
    void aRuleThatNoApplicationCanSatisfyIsRefused() {
        for (String name : List.of("", " ", "a\nb", "x".repeat(513))) {
            assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(() -> new Rule(name, OptionalInt.of(1), null));
        }
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new Rule("shop", OptionalInt.empty(), "s".repeat(1025)))
                .withMessageContaining("shop")
                .withMessageContaining("1025")
                .withMessageContaining("1024");
        assertThat(new Rule("shop", OptionalInt.empty(), "s".repeat(1024)).toString())
                .contains("shop");
    }
}
