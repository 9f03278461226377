package dev.lite.os.waiting;

/** Numbers of things in messages. Any thread. */
public final class Counts {
    private Counts() {}

    /** So many of them as a person writes it: {@code 1 lock}, {@code 0 locks}, {@code 2 locks}. */
    public static String text(long count, String one, String several) {
        return "%d %s".formatted(count, count == 1 ? one : several);
    }
}
