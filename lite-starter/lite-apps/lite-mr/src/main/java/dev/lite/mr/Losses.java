package dev.lite.mr;

import dev.lite.api.LiteException;

/** Which errors mean that another process is lost, or was; the work can be repeated elsewhere. */
final class Losses {
    private Losses() {}

    static boolean isLoss(LiteException error) {
        return switch (error.code()) {
            case LMR_NOT_FOUND, LMR_FREED, LMR_UNAVAILABLE, NODE_UNREACHABLE, TIMEOUT -> true;
            default -> false;
        };
    }
}
