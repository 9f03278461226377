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

/** The secret that a caller has to show. It is in no message and no log. Any thread. */
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
     * @throws StartException when two are, the file cannot be read, or it is none that a header could carry
     */
    static @Nullable AccessToken of(WebProperties properties) {
        Path file = properties.tokenFile();
        if (file == null) {
            String token = properties.token();
            return token == null || token.isEmpty() ? null : checked("lite.manager.token", token);
        }
        if (properties.token() != null) {
            throw new StartException(
                    "lite.manager.token and lite.manager.token-file are both set: there can be only one",
                    "Take one of the two out.",
                    null);
        }
        return checked("the token in %s (lite.manager.token-file)".formatted(file), read(file));
    }

    private static String read(Path file) {
        try {
            // One character for each byte, so that a file of anything else is refused below and not here.
            return Files.readString(file, StandardCharsets.ISO_8859_1).stripTrailing();
        } catch (IOException e) {
            throw new StartException(
                    "the token in %s (lite.manager.token-file) cannot be read: %s".formatted(file, e),
                    "Let lite.manager.token-file name a file that this user may read.",
                    e);
        }
    }

    private static AccessToken checked(String what, String token) {
        if (token.length() < BYTES_MIN || token.length() > BYTES_MAX) {
            throw new StartException(
                    "%s has %d characters; it must have %d to %d".formatted(what, token.length(), BYTES_MIN, BYTES_MAX),
                    "Take a random one, for instance: openssl rand -hex 32",
                    null);
        }
        if (!token.chars().allMatch(character -> character > ' ' && character < 0x7F)) {
            throw new StartException(
                    what + " has a character that is not visible ASCII, which no header can carry",
                    "Take a random one, for instance: openssl rand -hex 32",
                    null);
        }
        return new AccessToken(token.getBytes(StandardCharsets.US_ASCII));
    }

    /** Whether an {@code Authorization} header shows it: as a bearer token, or as the password of any user. */
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

    /** In a time that depends on the length of what was shown only. */
    private boolean isEqual(String shown) {
        return MessageDigest.isEqual(shown.getBytes(StandardCharsets.UTF_8), secret);
    }
}
