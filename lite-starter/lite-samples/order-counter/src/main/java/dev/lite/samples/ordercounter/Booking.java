package dev.lite.samples.ordercounter;

/**
 * An order that a shop enters into the warehouse's books.
 *
 * @param order the number of the order
 * @param article what was ordered
 * @param pieces how many of it
 * @param left how many are left, as computed by the shop
 * @param fencingToken the token of the lock under which the shop computed that
 */
record Booking(long order, String article, int pieces, int left, long fencingToken) {}
