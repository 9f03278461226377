package dev.lite.cli;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes on the command line: {@code 64MB}, for example; a number alone is bytes. */
final class ByteSizes {
    private static final Pattern SIZE = Pattern.compile("(\\d{1,12})(B|KB|MB|GB)?", Pattern.CASE_INSENSITIVE);

    private static final long GB_MAX = Long.MAX_VALUE >> 30;

    private ByteSizes() {}

    private static long tooLarge(String option, String text) {
        throw new IllegalArgumentException("%s is %s; it must be at most %dGB".formatted(option, text, GB_MAX));
    }

    /**
     * The size in bytes.
     *
     * @param option for messages
     * @throws IllegalArgumentException when the text is no size
     */
    static long parse(String option, String text) {
        Matcher matcher = SIZE.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "%s is \"%s\"; it must be a number followed by B, KB, MB or GB".formatted(option, text));
        }
        long number = Long.parseLong(matcher.group(1));
        String unit = matcher.group(2);
        return switch (unit == null ? "b" : unit.toLowerCase(Locale.ROOT)) {
            case "kb" -> number << 10;
            case "mb" -> number << 20;
            case "gb" -> number <= GB_MAX ? number << 30 : tooLarge(option, text);
            default -> number;
        };
    }
}
