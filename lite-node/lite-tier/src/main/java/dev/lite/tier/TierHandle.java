package dev.lite.tier;

import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import java.time.Duration;
import java.util.Set;

/**
 * A handle for the tier's own code. Its operations can also transfer between an LMR and raw addresses of this process,
 * and take the deadline of the application's command. The operations of {@link LmrHandle} use the session's deadline.
 */
public interface TierHandle extends LmrHandle {

    /**
     * {@link #read} into raw memory.
     *
     * @param address of memory that stays valid during the call
     * @param length bytes; checked against the bounds of the LMR
     * @param timeoutNs the maximum wait, in nanoseconds; 0 for the session's deadline
     */
    void read(long offset, long address, long length, long timeoutNs);

    /** {@link #write} from raw memory; see {@link #read(long, long, long, long)}. */
    void write(long offset, long address, long length, long timeoutNs);

    /** {@link #fetchAdd(long, long)} within {@code timeoutNs} nanoseconds; 0 for the session's deadline. */
    long fetchAdd(long offset, long delta, long timeoutNs);

    /** {@link #testSet(long, long, long)} within {@code timeoutNs} nanoseconds; 0 for the session's deadline. */
    long testSet(long offset, long expected, long value, long timeoutNs);

    /** {@link #memset(long, long, byte)} within {@code timeoutNs} nanoseconds; 0 for the session's deadline. */
    void memset(long offset, long length, byte value, long timeoutNs);

    /** {@link #grant(String, Set)} within this deadline. */
    void grant(String principal, Set<Permission> permissions, Duration deadline);

    /** {@link #moveTo(String)} within this deadline. */
    void moveTo(String node, Duration deadline);

    /** {@link #unmap()} within this deadline. */
    void unmap(Duration deadline);

    /** {@link #free()} within this deadline. */
    void free(Duration deadline);
}
