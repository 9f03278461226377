package dev.lite.tier.session;

import dev.lite.os.PeerCredentials;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** Who an application is: from what the kernel says about it, and a token where user ids are shared. Any thread. */
@FunctionalInterface
public interface PrincipalPolicy {

    /**
     * Decides about an application that wants to attach.
     *
     * @param credentials from the kernel
     * @param token what the application showed, or null
     */
    Decision decide(PeerCredentials credentials, @Nullable String token);

    /** Everybody who may open the socket is let in as {@code uid:<user id>}; tokens mean nothing. */
    static PrincipalPolicy byUid() {
        return (credentials, token) -> new Admitted("uid:" + credentials.uid());
    }

    /**
     * Only whom a rule names is let in; the first rule that fits gives the principal.
     *
     * @param rules at least one
     */
    static PrincipalPolicy of(List<Rule> rules) {
        List<Rule> copy = List.copyOf(rules);
        if (copy.isEmpty()) {
            throw new IllegalArgumentException("no principal is configured; nobody could attach");
        }
        return (credentials, token) -> {
            byte[] digest = token == null ? null : Rule.sha256(token);
            Rule found = null;
            for (Rule rule : copy) {
                // All rules are looked at, so the time says nothing about which token was close.
                if (rule.fits(credentials.uid(), digest) && found == null) {
                    found = rule;
                }
            }
            return found != null
                    ? new Admitted(found.principal)
                    : new Rejected("no principal is configured for user id %d %s; see the node's list of principals"
                            .formatted(credentials.uid(), token == null ? "without a token" : "with this token"));
        };
    }

    /** What a policy says. */
    sealed interface Decision {}

    /**
     * It is let in.
     *
     * @param principal as whom
     */
    record Admitted(String principal) implements Decision {}

    /**
     * It is not.
     *
     * @param reason for the application; says nothing secret
     */
    record Rejected(String reason) implements Decision {}

    /** One configured principal. Keeps no token, only its SHA-256. */
    final class Rule {
        private final String principal;
        private final OptionalInt uid;
        private final byte @Nullable [] tokenDigest;

        /**
         * A rule that fits when all it names fits.
         *
         * @param principal not blank
         * @param uid the user id, or empty for any
         * @param token the secret, not blank, or null when none is asked for
         */
        public Rule(String principal, OptionalInt uid, @Nullable String token) {
            if (principal.isBlank()) {
                throw new IllegalArgumentException("a principal's name is blank");
            }
            if (token != null && token.isBlank()) {
                throw new IllegalArgumentException("the token of principal %s is blank".formatted(principal));
            }
            if (uid.isEmpty() && token == null) {
                throw new IllegalArgumentException(
                        "principal %s has neither a user id nor a token: everybody would be it".formatted(principal));
            }
            this.principal = principal;
            this.uid = uid;
            tokenDigest = token == null ? null : sha256(token);
        }

        private boolean fits(int theirUid, byte @Nullable [] theirDigest) {
            boolean uidFits = uid.isEmpty() || uid.getAsInt() == theirUid;
            boolean tokenFits =
                    tokenDigest == null || (theirDigest != null && MessageDigest.isEqual(tokenDigest, theirDigest));
            return uidFits && tokenFits;
        }

        private static byte[] sha256(String token) {
            try {
                return MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
            } catch (NoSuchAlgorithmException everyJdkHasIt) {
                throw new AssertionError(everyJdkHasIt);
            }
        }

        @Override
        public String toString() {
            return "Rule[principal=%s, uid=%s, token=%s]"
                    .formatted(
                            principal,
                            uid.isPresent() ? uid.getAsInt() : "any",
                            tokenDigest == null ? "none" : "needed");
        }
    }
}
