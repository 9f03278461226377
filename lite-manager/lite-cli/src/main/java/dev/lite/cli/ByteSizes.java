package dev.lite.cli;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes on the command line: {@code 64MB}, for example; a number alone is bytes. */
final class ByteSizes {
    private static final Pattern SIZE = Pattern.compile("(\\d{1,12})(B|KB|MB|GB)?", Pattern.CASE_INSENSITIVE);

    private ByteSizes() {}

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
            case "gb" -> Math.multiplyExact(number, 1L << 30);
            default -> number;
        };
    }
}
