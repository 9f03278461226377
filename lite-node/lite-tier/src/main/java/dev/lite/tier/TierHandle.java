package dev.lite.tier;

import dev.lite.api.LmrHandle;

/** A handle as the tier's own parts see it: they also transfer between an LMR and raw addresses of this process. */
public interface TierHandle extends LmrHandle {

    /**
     * {@link #read} into raw memory.
     *
     * @param address of memory that stays valid during the call
     * @param length bytes, checked like every other
     */
    void read(long offset, long address, long length);

    /** {@link #write} from raw memory. */
    void write(long offset, long address, long length);
}
