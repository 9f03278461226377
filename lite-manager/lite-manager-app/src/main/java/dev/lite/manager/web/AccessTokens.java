package dev.lite.manager.web;

import dev.lite.cluster.process.PropertyChecks;
import dev.lite.cluster.process.StartException;
import dev.lite.cluster.process.Trust;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The tokens that clients may send. Only their SHA-256 is kept, and none appears in a message or a log. A fast hash is enough, because
 * tokens are random: nobody can guess one from its hash. Any thread.
 */
final class AccessTokens {
    /** The name of the client that sends {@code lite.manager.token}. */
    static final String UNNAMED = "token";

    private static final int BYTES_MIN = 16;
    private static final int BYTES_MAX = 1024;
    private static final int DIGEST_BYTES = 32;
    private static final String BEARER = "bearer ";
    private static final String BASIC = "basic ";

    private final List<Known> tokens;

    private record Known(Client client, byte[] digest) {}

    private AccessTokens(List<Known> tokens) {
        this.tokens = List.copyOf(tokens);
    }

    /**
     * Reads the configured tokens; there may be none.
     *
     * @throws StartException when a property is wrong, two tokens are the same, the file cannot be read or others may write to
     *     it, or a header cannot carry the token
     */
    static AccessTokens of(WebProperties properties) {
        List<Known> known = new ArrayList<>();
        String one = single(properties);
        if (one != null) {
            known.add(new Known(new Client(UNNAMED, Role.OPERATOR), sha256(one)));
        }
        Set<String> names = new HashSet<>(Set.of(UNNAMED));
        for (int index = 0; index < properties.tokens().size(); index++) {
            WebProperties.NamedToken token = properties.tokens().get(index);
            Known next = named("lite.manager.tokens[%d]".formatted(index), token);
            if (!names.add(next.client().name())) {
                throw wrong(
                        "lite.manager.tokens[%d].name is \"%s\", which another token has"
                                .formatted(index, next.client().name()),
                        "Give each token a name of its own.");
            }
            for (Known other : known) {
                if (MessageDigest.isEqual(other.digest(), next.digest())) {
                    throw wrong(
                            "lite.manager.tokens[%d].sha256, of \"%s\", is also that of \"%s\", so the token would have two roles"
                                    .formatted(
                                            index,
                                            next.client().name(),
                                            other.client().name()),
                            "Give each client a token of its own.");
                }
            }
            known.add(next);
        }
        return new AccessTokens(known);
    }

    private static Known named(String property, WebProperties.NamedToken token) {
        String name = token.name();
        if (name == null || !name.matches("[A-Za-z0-9._-]{1,63}")) { // it appears in the log
            throw wrong(
                    "%s.name is \"%s\"; it must be 1 to 63 of the characters a-z A-Z 0-9 . _ -"
                            .formatted(property, name == null ? "" : name),
                    "Correct it.");
        }
        byte[] digest;
        try {
            digest = HexFormat.of()
                    .parseHex(token.sha256() == null ? "" : token.sha256().toLowerCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            digest = new byte[0];
        }
        if (digest.length != DIGEST_BYTES) {
            throw wrong(
                    "%s.sha256, of \"%s\", is not the SHA-256 of a token: it must have 64 hexadecimal digits"
                            .formatted(property, name),
                    "Make it with: printf %s \"$TOKEN\" | sha256sum");
        }
        if (MessageDigest.isEqual(digest, sha256(""))) {
            throw wrong(
                    "%s.sha256, of \"%s\", is the SHA-256 of an empty text, which everybody knows"
                            .formatted(property, name),
                    "Check that TOKEN is set, and make it again with: printf %s \"$TOKEN\" | sha256sum");
        }
        return new Known(new Client(name, token.role()), digest);
    }

    private static StartException wrong(String what, String action) {
        return new StartException(what, action, null);
    }

    private static @Nullable String single(WebProperties properties) {
        Path file = properties.tokenFile();
        if (file == null) {
            String token = properties.token();
            return token == null || token.isEmpty() ? null : checked("lite.manager.token", token);
        }
        if (properties.token() != null) {
            throw new StartException(
                    "lite.manager.token and lite.manager.token-file are both set: only one may be set",
                    "Remove one of the two.",
                    null);
        }
        return checked("the token in %s (lite.manager.token-file)".formatted(file), read(file));
    }

    private static String read(Path file) {
        Trust.checkSecretFile("lite.manager.token-file", file);
        try {
            // One character for each byte, so that invalid content is rejected below rather than here.
            return Files.readString(file, StandardCharsets.ISO_8859_1).stripTrailing();
        } catch (IOException e) {
            throw new StartException(
                    "cannot read the token in %s (lite.manager.token-file): %s".formatted(file, e),
                    "Set lite.manager.token-file to a file that this user may read.",
                    e);
        }
    }

    private static String checked(String what, String token) {
        if (token.length() < BYTES_MIN || token.length() > BYTES_MAX) {
            throw new StartException(
                    "%s has %d characters; it must have %d to %d".formatted(what, token.length(), BYTES_MIN, BYTES_MAX),
                    "Use a random token, for example: openssl rand -hex 32",
                    null);
        }
        if (!PropertyChecks.isHeaderToken(token)) {
            throw new StartException(
                    what + " has a character that is not visible ASCII, which no header can carry",
                    "Use a random token, for example: openssl rand -hex 32",
                    null);
        }
        return token;
    }

    /** Whether no token is configured. */
    boolean isEmpty() {
        return tokens.isEmpty();
    }

    /** Who sends this {@code Authorization} header: a bearer token, or one as the password of any user. Null: nobody known. */
    @Nullable
    Client clientOf(@Nullable String header) {
        if (header == null) {
            return null;
        }
        String scheme = header.toLowerCase(Locale.ROOT);
        if (scheme.startsWith(BEARER)) {
            return find(header.substring(BEARER.length()).strip());
        }
        return scheme.startsWith(BASIC)
                ? ofPassword(header.substring(BASIC.length()).strip())
                : null;
    }

    private @Nullable Client ofPassword(String credentials) {
        try {
            String login = new String(Base64.getDecoder().decode(credentials), StandardCharsets.UTF_8);
            int colon = login.indexOf(':');
            return colon < 0 ? null : find(login.substring(colon + 1));
        } catch (IllegalArgumentException e) {
            return null; // not base 64
        }
    }

    /** Compares with all, each in constant time. */
    private @Nullable Client find(String given) {
        byte[] digest = sha256(given);
        Client found = null;
        for (Known known : tokens) {
            if (MessageDigest.isEqual(known.digest(), digest)) {
                found = known.client();
            }
        }
        return found;
    }

    private static byte[] sha256(String token) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException everyJdkHasIt) {
            throw new AssertionError(everyJdkHasIt);
        }
    }
}
