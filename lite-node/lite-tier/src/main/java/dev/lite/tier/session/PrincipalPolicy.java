package dev.lite.tier.session;

import dev.lite.os.PeerCredentials;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** Authenticates applications: by their credentials from the kernel, and by a token where several share a user id. Any thread. */
@FunctionalInterface
public interface PrincipalPolicy {

    /**
     * Decides whether an application may attach.
     *
     * @param credentials the process's credentials, from the kernel
     * @param token the application's token, or null
     */
    Decision decide(PeerCredentials credentials, @Nullable String token);

    /** Admits every process that can open the socket as principal {@code uid:<user id>}; ignores tokens. */
    static PrincipalPolicy byUid() {
        return (credentials, token) -> new Admitted("uid:" + credentials.uid());
    }

    /**
     * Admits only applications that match a rule; the first match gives the principal.
     *
     * @param rules at least one
     */
    static PrincipalPolicy of(List<Rule> rules) {
        List<Rule> copy = List.copyOf(rules);
        if (copy.isEmpty()) {
            throw new IllegalArgumentException("no principal is configured; no application could attach");
        }
        return (credentials, token) -> {
            byte[] digest = token == null ? null : Rule.sha256(token);
            Rule found = null;
            for (Rule rule : copy) {
                // Compares with all rules, so that the time does not depend on the token.
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

    /** The decision of a policy. */
    sealed interface Decision {}

    /**
     * The application is admitted.
     *
     * @param principal its principal
     */
    record Admitted(String principal) implements Decision {}

    /**
     * The application is rejected.
     *
     * @param reason sent to the application; contains no secret
     */
    record Rejected(String reason) implements Decision {}

    /** One configured principal. Keeps only the SHA-256 of the token. */
    final class Rule {
        private final String principal;
        private final OptionalInt uid;
        private final byte @Nullable [] tokenDigest;

        /**
         * Creates a rule that matches when the user id and the token do.
         *
         * @param principal the principal's name, not blank
         * @param uid the user id, or empty for any
         * @param token the secret, not blank, or null if none is needed
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
                        "principal %s has neither a user id nor a token: every application would match"
                                .formatted(principal));
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
