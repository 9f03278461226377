package dev.lite.testing;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Counts the misuses that a test generates, and collects those whose answer is bad, so that one run shows them all. One thread.
 */
public final class Misuses {
    private static final int CHARS_MAX = 300;

    /** What no message may contain: class names, and texts of the JDK that do not say what was wrong. */
    private static final List<Pattern> RAW = List.of(
            Pattern.compile("\\b(dev\\.lite|java|javax|jdk|sun|picocli|org\\.springframework)\\.[a-z]"),
            Pattern.compile("Cannot invoke|because \""),
            Pattern.compile("out of bounds for length"),
            Pattern.compile("\\bnull\\b"),
            Pattern.compile("[\\w\\]]@[0-9a-f]{5,}"),
            Pattern.compile("MemorySegment\\{"),
            Pattern.compile("Exception\\b"));

    private final String interfaceName;
    private final Map<String, Integer> countOf = new TreeMap<>();
    private final Set<String> distinct = new HashSet<>();
    private final List<String> failures = new ArrayList<>();

    /** @param interfaceName what is misused, for the report */
    public Misuses(String interfaceName) {
        this.interfaceName = interfaceName;
    }

    /**
     * Counts a misuse.
     *
     * @param kind for the report, such as the type of the misused object
     * @param misuse what was done; two misuses of a test differ in it
     * @param problem what is wrong with the answer, or null
     */
    public void add(String kind, String misuse, @Nullable String problem) {
        if (!distinct.add(kind + " " + misuse)) {
            failures.add("%s: %s: generated twice".formatted(kind, misuse));
        }
        countOf.merge(kind, 1, Integer::sum);
        if (problem != null) {
            failures.add("%s: %s: %s".formatted(kind, misuse, problem));
        }
    }

    /** Reports something that is wrong apart from a single answer. */
    public void fail(String problem) {
        failures.add(problem);
    }

    /**
     * What is wrong with the message of an error, or null. A good one is a single line of at most {@value #CHARS_MAX} characters, has
     * all of {@code parts}, and no class names or raw texts of the JDK.
     */
    public static @Nullable String problemOf(@Nullable String message, Collection<String> parts) {
        if (message == null || message.isBlank()) {
            return "no message";
        }
        String shown = message.length() <= 2 * CHARS_MAX ? message : message.substring(0, 2 * CHARS_MAX) + "…";
        if (message.length() > CHARS_MAX) {
            return "the message has %d characters: %s".formatted(message.length(), shown);
        }
        if (message.chars().anyMatch(Character::isISOControl)) {
            return "the message has several lines or control characters: " + shown;
        }
        for (Pattern raw : RAW) {
            if (raw.matcher(message).find()) {
                return "the message has the raw text %s: %s".formatted(raw, shown);
            }
        }
        for (String part : parts) {
            if (!message.contains(part)) {
                return "the message lacks \"%s\": %s".formatted(part, shown);
            }
        }
        return null;
    }

    /**
     * Prints how many misuses there were, by kind.
     *
     * @throws AssertionError if one had a bad answer, with all of them, or if there were fewer than {@code leastCount}
     */
    public void finish(int leastCount) {
        StringBuilder report = new StringBuilder("%d misuses of %s:".formatted(distinct.size(), interfaceName));
        countOf.forEach((kind, count) -> report.append(String.format(Locale.ROOT, " %s %d,", kind, count)));
        report.setLength(report.length() - 1);
        System.out.println(report);
        if (!failures.isEmpty()) {
            throw new AssertionError("%d bad answers:%n%s".formatted(failures.size(), String.join("\n", failures)));
        }
        if (distinct.size() < leastCount) {
            throw new AssertionError("%s; expected at least %d".formatted(report, leastCount));
        }
    }
}
