package dev.lite.fabric;

/**
 * A range of raw addresses of this process.
 *
 * @param start the first address
 * @param bytes its length in bytes
 */
public record AddressRange(long start, long bytes) {
    /** Contains no address. */
    public static final AddressRange EMPTY = new AddressRange(0, 0);

    /** Whether an address lies in the range. */
    public boolean contains(long address) {
        return address >= start && address - start < bytes;
    }
}
