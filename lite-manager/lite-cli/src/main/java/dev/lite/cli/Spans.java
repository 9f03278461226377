package dev.lite.cli;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations on the command line: {@code 500ms}, {@code 30s}, {@code 5m}, {@code 2h}; a number alone is seconds. */
final class Spans {
    private static final Pattern SPAN = Pattern.compile("(\\d{1,9})(ms|s|m|h)?", Pattern.CASE_INSENSITIVE);

    private Spans() {}

    /**
     * Parses a duration.
     *
     * @param option for messages
     * @throws IllegalArgumentException when the text is no duration, or outside the limits
     */
    static Duration parse(String option, String text, Duration min, Duration max) {
        Matcher matcher = SPAN.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "%s is \"%s\"; it must be a number followed by ms, s, m or h".formatted(option, text));
        }
        long number = Long.parseLong(matcher.group(1));
        String unit = matcher.group(2);
        Duration parsed = switch (unit == null ? "s" : unit.toLowerCase(Locale.ROOT)) {
            case "ms" -> Duration.ofMillis(number);
            case "m" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            default -> Duration.ofSeconds(number);
        };
        if (parsed.compareTo(min) < 0 || parsed.compareTo(max) > 0) {
            throw new IllegalArgumentException(
                    "%s is %s; it must be %s to %s".formatted(option, text, show(min), show(max)));
        }
        return parsed;
    }

    private static String show(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + "s" : duration.toMillis() + "ms";
    }
}
