package dev.lite.samples.ordercounter;

/**
 * The warehouse's books, over all articles.
 *
 * @param atFirst pieces at first
 * @param sold pieces of all orders
 * @param left pieces that are left
 * @param orders how many orders were booked
 * @param numbers how many different numbers these orders have
 */
record Books(int atFirst, int sold, int left, int orders, int numbers) {

    /** Whether no order is missing, was entered twice, or was computed from an old stock. */
    boolean areRight() {
        return sold + left == atFirst && numbers == orders;
    }
}
