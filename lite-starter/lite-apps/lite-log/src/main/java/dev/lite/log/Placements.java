package dev.lite.log;

import dev.lite.api.Placement;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Placements as texts, in which the metadata of a log keeps them. */
final class Placements {
    /** The room in the metadata; enough for 15 nodes with the longest names. */
    static final int TEXT_BYTES_MAX = 1000;

    private static final String LOCAL = "local";
    private static final String ROUND_ROBIN = "round-robin";
    private static final String SPREAD = "spread";
    private static final String ON = "on ";

    private Placements() {}

    static String toText(Placement placement) {
        String text = switch (placement) {
            case Placement.Local.INSTANCE -> LOCAL;
            case Placement.RoundRobin.INSTANCE -> ROUND_ROBIN;
            case Placement.Spread.INSTANCE -> SPREAD;
            case Placement.OnNodes on -> ON + String.join(" ", on.nodes());
        };
        if (text.getBytes(StandardCharsets.UTF_8).length > TEXT_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "the placement of a log names nodes with %d characters; the limit is %d bytes"
                            .formatted(text.length(), TEXT_BYTES_MAX));
        }
        return text;
    }

    static Placement parse(String text) {
        return switch (text) {
            case LOCAL -> Placement.local();
            case ROUND_ROBIN -> Placement.roundRobin();
            case SPREAD -> Placement.spread();
            default -> Placement.on(List.of(text.substring(ON.length()).split(" ")));
        };
    }
}
