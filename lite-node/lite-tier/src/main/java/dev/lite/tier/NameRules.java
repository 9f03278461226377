package dev.lite.tier;

import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Which names a principal may use, and for what. Asked when a name is opened, never for each operation. It is asked before anything
 * is looked up, so a refusal is the same whether the thing exists or not. Immutable.
 *
 * <p>A pattern is a name, or ends with {@code *} (any text of at least one character without a slash) or with {@code **} (any text
 * of at least one character). A comparison takes time in proportion to the length of the name, whatever the pattern.
 */
public final class NameRules {
    /** Every name, for everything. */
    public static final NameRules ALL = new NameRules(Map.of());

    /** What a name is used for. */
    public enum Use {
        /** Creates an LMR. */
        CREATE("create an LMR with"),
        /** Maps an LMR. */
        MAP("map an LMR with"),
        /** Uses a lock or a barrier. */
        LOCK("use a lock or barrier with"),
        /** Serves a function, or receives from a port. */
        SERVE("serve a function or port with"),
        /** Calls a function, or sends to a port. */
        CALL("call a function, or send to a port, with");

        private final String verb;

        Use(String verb) {
            this.verb = verb;
        }
    }

    private record Pattern(String fixed, boolean open, boolean slashes) {
        static Pattern of(String text) {
            boolean slashes = text.endsWith("**");
            boolean open = text.endsWith("*");
            String fixed = text.substring(0, text.length() - (slashes ? 2 : open ? 1 : 0));
            if (text.isBlank() || fixed.indexOf('*') >= 0) {
                throw new IllegalArgumentException(
                        "\"%s\" is not a pattern of names; it must be a name, and may end with * or **"
                                .formatted(text));
            }
            // Otherwise no name fits it. A name may begin with a blank.
            LmrSpec.checkName(open ? fixed + "x" : fixed);
            return new Pattern(fixed, open, slashes);
        }

        boolean fits(String name) {
            if (!open) {
                return name.equals(fixed);
            }
            return name.length() > fixed.length()
                    && name.startsWith(fixed)
                    && (slashes || name.indexOf('/', fixed.length()) < 0);
        }
    }

    /** Empty: no rules. */
    private final Map<Use, List<Pattern>> patterns;

    private NameRules(Map<Use, List<Pattern>> patterns) {
        this.patterns = patterns;
    }

    /**
     * Only names that fit one of these patterns.
     *
     * @param all the patterns for every use
     * @param further more patterns for one use
     * @return {@link #ALL} if there is no pattern
     * @throws IllegalArgumentException if a text is no pattern; the message quotes it
     */
    public static NameRules of(List<String> all, Map<Use, List<String>> further) {
        if (all.isEmpty() && further.values().stream().allMatch(List::isEmpty)) {
            return ALL;
        }
        EnumMap<Use, List<Pattern>> byUse = new EnumMap<>(Use.class);
        for (Use use : Use.values()) {
            List<Pattern> its = new ArrayList<>();
            all.forEach(text -> its.add(Pattern.of(text)));
            further.getOrDefault(use, List.of()).forEach(text -> its.add(Pattern.of(text)));
            byUse.put(use, List.copyOf(its));
        }
        return new NameRules(byUse);
    }

    /** Whether the name may be used so. */
    public boolean allow(Use use, String name) {
        if (patterns.isEmpty()) {
            return true;
        }
        for (Pattern pattern : patterns.getOrDefault(use, List.of())) {
            if (pattern.fits(name)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Refuses a name that may not be used so.
     *
     * @param principal whose rules these are, for the message
     * @throws LmrPermissionException if it may not
     */
    public void require(String principal, Use use, String name) {
        if (!allow(use, name)) {
            throw new LmrPermissionException(
                    "\"%s\" may not %s the name \"%s\"; its patterns for that are %s (lite.node.principals)"
                            .formatted(principal, use.verb, name, text(use)));
        }
    }

    private String text(Use use) {
        return patterns.getOrDefault(use, List.of()).stream()
                .map(pattern -> pattern.fixed + (pattern.slashes ? "**" : pattern.open ? "*" : ""))
                .toList()
                .toString();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof NameRules its && its.patterns.equals(patterns);
    }

    @Override
    public int hashCode() {
        return patterns.hashCode();
    }

    /** The patterns by use. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("NameRules[");
        for (Use use : patterns.keySet()) {
            text.append(use.name().toLowerCase(Locale.ROOT)).append(text(use));
        }
        return text.append(']').toString();
    }
}
