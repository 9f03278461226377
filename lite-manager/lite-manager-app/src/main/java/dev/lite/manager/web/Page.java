package dev.lite.manager.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of a listing.
 *
 * @param items in the order of their names
 * @param next the {@code after} parameter for the next page; absent on the last page
 */
record Page<T>(
        List<T> items,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable String next) {
    static final int LIMIT_MAX = 1000;

    /** Validates a page size. */
    static int checkedLimit(int limit) {
        if (limit < 1 || limit > LIMIT_MAX) {
            throw Refusals.badValue("limit", limit, "1 to " + LIMIT_MAX);
        }
        return limit;
    }
}
