package dev.lite.samples.priceboard;

import java.util.Locale;

/**
 * What an instrument costs.
 *
 * @param number counts the quotes of the instrument from 1
 * @param bid the price at which the publisher buys, in cents
 * @param ask the price at which it sells, in cents
 */
record Quote(long number, long bid, long ask) {

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%.2f/%.2f #%d", bid / 100.0, ask / 100.0, number);
    }
}
