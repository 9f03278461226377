package dev.lite.api;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.regex.Pattern;

/** Checks of names, with the name in the message. */
final class Names {
    private static final Pattern NODE = Pattern.compile("[A-Za-z0-9._-]{1,63}");
    private static final int SHOWN_CHARS = 32;

    private Names() {}

    /**
     * Checks that a name is a text of one line: not blank, without control characters, and valid Unicode.
     *
     * @param what the name, for the message
     * @param parameter the parameter that it is
     */
    static void requireText(String what, String parameter, String name) {
        Objects.requireNonNull(name, parameter);
        if (name.isBlank()) {
            boolean isLine = name.chars().noneMatch(Character::isISOControl) && name.length() <= SHOWN_CHARS;
            throw new IllegalArgumentException("%s is blank%s".formatted(what, isLine ? ": \"" + name + "\"" : ""));
        }
        for (int at = 0; at < name.length(); at += Character.charCount(name.codePointAt(at))) {
            int character = name.codePointAt(at);
            if (Character.isISOControl(character)) {
                throw new IllegalArgumentException(
                        "%s has a control character: U+%04X at index %d".formatted(what, character, at));
            }
            if (character >= Character.MIN_SURROGATE && character <= Character.MAX_SURROGATE) {
                throw new IllegalArgumentException(
                        "%s has half of a surrogate pair, U+%04X, at index %d".formatted(what, character, at));
            }
        }
    }

    /** {@link #requireText}, and at most so many bytes of UTF-8. */
    static void require(String what, String parameter, String name, int bytesMax) {
        requireText(what, parameter, name);
        int bytes = bytes(name);
        if (bytes > bytesMax) {
            throw new IllegalArgumentException(
                    "%s \"%s\" has %d bytes of UTF-8; the limit is %d".formatted(what, shown(name), bytes, bytesMax));
        }
    }

    static int bytes(String name) {
        return name.getBytes(StandardCharsets.UTF_8).length;
    }

    /** As much of a text as a message has room for. */
    static String shown(String text) {
        return text.codePointCount(0, text.length()) <= SHOWN_CHARS
                ? text
                : text.substring(0, text.offsetByCodePoints(0, SHOWN_CHARS)) + "…";
    }

    static void requireNode(String parameter, String name) {
        Objects.requireNonNull(name, parameter);
        if (!NODE.matcher(name).matches() || name.equals(".") || name.equals("..")) {
            requireText("the node name", parameter, name);
            throw new IllegalArgumentException(
                    "the node name \"%s\" is not 1 to 63 of the characters a-z A-Z 0-9 . _ -".formatted(shown(name)));
        }
    }
}
