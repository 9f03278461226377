package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;

/**
 * The memory half of LITE's interface (paper Table 1, §4). Every method may be called by any number of threads, blocks at most
 * until its deadline, and throws {@link SessionLostException} when the session has ended. Sizes and offsets are bytes.
 *
 * <p>A handle that is returned is the caller's, to be unmapped, or closed, by it; the end of the session gives it back, too.
 */
public interface LtMemory {

    /**
     * {@code LT_malloc}: makes an LMR and maps it with all permissions; the caller's principal becomes its master. All of
     * its bytes are zero.
     *
     * @throws LmrExistsException when the name is taken
     * @throws LimitExceededException when a limit or the free memory of a chosen node is too small; nothing is taken then
     * @throws NodeUnreachableException when a chosen node is unknown or does not answer
     * @throws ClusterUnavailableException when it has a name and the directory cannot be reached
     * @throws LiteTimeoutException when the deadline passed first; nothing is kept then
     */
    LmrHandle malloc(LmrSpec spec, Duration deadline);

    /** {@link #malloc(LmrSpec, Duration)} with the session's deadline. */
    LmrHandle malloc(LmrSpec spec);

    /**
     * {@code LT_map}: a new handle on the LMR of this name.
     *
     * @param permissions what the handle shall be good for, at least one
     * @throws LmrNotFoundException when there is no LMR of this name
     * @throws LmrPermissionException when the caller's principal may not do all of it
     * @throws ClusterUnavailableException when the directory cannot be reached
     * @throws LiteTimeoutException when the deadline passed first
     */
    LmrHandle map(String name, Set<Permission> permissions, Duration deadline);

    /** {@link #map(String, Set, Duration)} with the session's deadline. */
    LmrHandle map(String name, Set<Permission> permissions);

    /** {@link #map(String, Set)} for these permissions. */
    default LmrHandle map(String name, Permission first, Permission... more) {
        java.util.EnumSet<Permission> all = java.util.EnumSet.of(first, more);
        return map(name, all);
    }

    /**
     * {@code LT_map} of an LMR without a name: a new handle on the LMR of this id, which somebody who knows it passed on.
     * The directory is not asked, so there may be millions of such LMRs; the node that made it answers.
     *
     * @param id of {@link LmrHandle#id}
     * @param permissions what the handle shall be good for, at least one
     * @throws LmrNotFoundException when there is no LMR of this id (any more)
     * @throws LmrPermissionException when the caller's principal may not do all of it
     * @throws NodeUnreachableException when the node that made it cannot be reached
     * @throws LiteTimeoutException when the deadline passed first
     */
    LmrHandle map(long id, Set<Permission> permissions, Duration deadline);

    /** {@link #map(long, Set, Duration)} with the session's deadline. */
    LmrHandle map(long id, Set<Permission> permissions);

    /** {@link #map(long, Set)} for these permissions. */
    default LmrHandle map(long id, Permission first, Permission... more) {
        java.util.EnumSet<Permission> all = java.util.EnumSet.of(first, more);
        return map(id, all);
    }

    /**
     * Memory that is already there becomes an LMR: {@link #malloc} of {@code spec}, with the segment's bytes as its first
     * content. Nobody sees the LMR before its content is whole. A node's memory is registered with the fabric once and as
     * one piece, so the bytes move into it; the segment stays the caller's, and what is written to it afterwards is not seen
     * through the LMR.
     *
     * <p>Waits at most for the session's deadline; what {@link #malloc} throws it throws, too, and nothing is kept then.
     *
     * @param spec its size is the segment's
     * @throws IllegalArgumentException when it is not
     */
    LmrHandle register(LmrSpec spec, MemorySegment segment);

    /**
     * {@code LT_memcpy}: copies between two LMRs, or within one when the ranges do not overlap. The bytes do not pass through
     * the caller: the node that holds the source copies, within itself or by writing to the other node. {@code source} needs
     * {@link Permission#READ}, {@code destination} {@link Permission#WRITE}; both are handles of this session. The bytes are
     * placed when it returns; when it throws something else than a refusal, some of them may be. Waits at most for the
     * session's deadline. For errors of either handle see {@link LmrHandle}.
     *
     * @param length bytes; 0 does nothing
     * @throws IllegalArgumentException when the ranges overlap, or a handle is not of this session
     * @throws NodeUnreachableException when a node that holds a part of either does not answer
     */
    void memcpy(LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length);

    /** {@code LT_memmove}: {@link #memcpy} of ranges that may overlap; the destination gets what the source held before. */
    void memmove(LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length);

    /**
     * Waits until every asynchronous operation that this session began before the call has ended, well or not.
     *
     * @throws LiteTimeoutException when some have not at the deadline
     */
    void fence(Duration deadline);
}
