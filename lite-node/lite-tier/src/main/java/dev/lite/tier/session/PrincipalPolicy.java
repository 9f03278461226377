package dev.lite.tier.session;

import dev.lite.api.LmrHandle;
import dev.lite.os.PeerCredentials;
import dev.lite.os.UserNamespace;
import dev.lite.session.protocol.SessionProtocol;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
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

    /**
     * Admits every process that can open the socket as principal {@code uid:<user id>}; ignores tokens. Rejects users that the user
     * namespace of this process does not have: all of them have one id here.
     */
    static PrincipalPolicy byUid() {
        return byUid(UserNamespace.uidOfOthers());
    }

    /**
     * {@link #byUid()} in a certain namespace.
     *
     * @param others the user id of all users that the namespace does not have
     */
    static PrincipalPolicy byUid(OptionalInt others) {
        return (credentials, token) -> isOf(others, credentials)
                ? new Rejected(
                        "user id %d stands for all users that the user namespace of the node does not have; run the application in the namespace of its node, or give it a token (lite.node.principals)"
                                .formatted(credentials.uid()))
                : new Admitted("uid:" + credentials.uid());
    }

    private static boolean isOf(OptionalInt others, PeerCredentials credentials) {
        return others.isPresent() && others.getAsInt() == credentials.uid();
    }

    /**
     * Admits only applications that match a rule; the first match gives the principal. Rules for a user id match none of the users that
     * the user namespace of this process does not have.
     *
     * @param rules at least one
     * @throws IllegalArgumentException if there is none, or one of them can never match because of an earlier one
     */
    static PrincipalPolicy of(List<Rule> rules) {
        return of(rules, UserNamespace.uidOfOthers());
    }

    /**
     * {@link #of(List)} in a certain namespace.
     *
     * @param others the user id of all users that the namespace does not have
     */
    static PrincipalPolicy of(List<Rule> rules, OptionalInt others) {
        List<Rule> copy = List.copyOf(rules);
        if (copy.isEmpty()) {
            throw new IllegalArgumentException("no principal is configured; no application could attach");
        }
        requireAllReached(copy);
        return (credentials, token) -> {
            byte[] digest = token == null ? null : Rule.sha256(token);
            boolean isOther = isOf(others, credentials);
            Rule found = null;
            for (Rule rule : copy) {
                // Compares with all rules, so that the time does not depend on the token.
                if (rule.fits(credentials.uid(), isOther, digest) && found == null) {
                    found = rule;
                }
            }
            return found != null
                    ? new Admitted(found.principal)
                    : new Rejected("no principal is configured for user id %d %s; see the node's list of principals"
                            .formatted(credentials.uid(), token == null ? "without a token" : "with this token"));
        };
    }

    private static void requireAllReached(List<Rule> rules) {
        for (int late = 1; late < rules.size(); late++) {
            for (int early = 0; early < late; early++) {
                if (rules.get(early).covers(rules.get(late))) {
                    throw new IllegalArgumentException(
                            "lite.node.principals[%d] (%s) can never match: [%d] (%s) matches each of its applications before it"
                                    .formatted(late, rules.get(late).principal, early, rules.get(early).principal));
                }
            }
        }
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
         * @param principal the principal's name, as in {@link LmrHandle#grant}
         * @param uid the user id, or empty for any
         * @param token the secret, not blank and at most {@value SessionProtocol#TOKEN_BYTES_MAX} bytes, or null if none is needed
         */
        public Rule(String principal, OptionalInt uid, @Nullable String token) {
            Set<?> unused = LmrHandle.checkGrant(principal, Set.of());
            if (token != null && token.isBlank()) {
                throw new IllegalArgumentException("the token of principal %s is blank".formatted(principal));
            }
            int bytes = token == null ? 0 : token.getBytes(StandardCharsets.UTF_8).length;
            if (bytes > SessionProtocol.TOKEN_BYTES_MAX) {
                throw new IllegalArgumentException(
                        "the token of principal %s has %d bytes, so no application can send it; the limit is %d"
                                .formatted(principal, bytes, SessionProtocol.TOKEN_BYTES_MAX));
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

        private boolean fits(int theirUid, boolean isOther, byte @Nullable [] theirDigest) {
            boolean uidFits = uid.isEmpty() || (uid.getAsInt() == theirUid && !isOther);
            boolean tokenFits =
                    tokenDigest == null || (theirDigest != null && MessageDigest.isEqual(tokenDigest, theirDigest));
            return uidFits && tokenFits;
        }

        /** Whether it matches every application that the other one matches. */
        private boolean covers(Rule other) {
            boolean sameUid = uid.isEmpty() || uid.equals(other.uid);
            return sameUid && (tokenDigest == null || Arrays.equals(tokenDigest, other.tokenDigest));
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
