package dev.lite.manager.web;

import dev.lite.cluster.process.StartException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The secret that clients must send. It never appears in a message or a log. Any thread. */
final class AccessToken {
    private static final int BYTES_MIN = 16;
    private static final int BYTES_MAX = 1024;
    private static final String BEARER = "bearer ";
    private static final String BASIC = "basic ";

    private final byte[] secret;

    private AccessToken(byte[] secret) {
        this.secret = secret;
    }

    /**
     * Reads the configured token.
     *
     * @return null when none is configured
     * @throws StartException when both properties are set, the file cannot be read, or a header cannot carry the token
     */
    static @Nullable AccessToken of(WebProperties properties) {
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

    private static AccessToken checked(String what, String token) {
        if (token.length() < BYTES_MIN || token.length() > BYTES_MAX) {
            throw new StartException(
                    "%s has %d characters; it must have %d to %d".formatted(what, token.length(), BYTES_MIN, BYTES_MAX),
                    "Use a random token, for example: openssl rand -hex 32",
                    null);
        }
        if (!token.chars().allMatch(character -> character > ' ' && character < 0x7F)) {
            throw new StartException(
                    what + " has a character that is not visible ASCII, which no header can carry",
                    "Use a random token, for example: openssl rand -hex 32",
                    null);
        }
        return new AccessToken(token.getBytes(StandardCharsets.US_ASCII));
    }

    /** Whether an {@code Authorization} header carries the token: as a bearer token, or as the password of any user. */
    boolean isShownBy(@Nullable String header) {
        if (header == null) {
            return false;
        }
        String scheme = header.toLowerCase(Locale.ROOT);
        if (scheme.startsWith(BEARER)) {
            return isEqual(header.substring(BEARER.length()).strip());
        }
        return scheme.startsWith(BASIC)
                && isPasswordOf(header.substring(BASIC.length()).strip());
    }

    private boolean isPasswordOf(String credentials) {
        try {
            String login = new String(Base64.getDecoder().decode(credentials), StandardCharsets.UTF_8);
            int colon = login.indexOf(':');
            return colon >= 0 && isEqual(login.substring(colon + 1));
        } catch (IllegalArgumentException e) {
            return false; // not base 64
        }
    }

    /** Compares in a time that depends only on the length of the argument. */
    private boolean isEqual(String given) {
        return MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), secret);
    }
}
