package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a listing.
 *
 * @param items in the order of their names
 * @param next what to give as {@code after} for the next part; absent when this was the last
 */
record Page<T>(
        List<T> items,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable String next) {
    static final int LIMIT_MAX = 1000;

    /** How many a request asks for. */
    static int checkedLimit(int limit) {
        if (limit < 1 || limit > LIMIT_MAX) {
            throw Refusals.badValue("limit", limit, "1 to " + LIMIT_MAX);
        }
        return limit;
    }
}
