package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/**
 * Named remote memory (paper Table 1, §4). Sizes and offsets are in bytes. Every method may be called by any number of threads, blocks at
 * most until its deadline, and throws {@link SessionLostException} when the session has ended.
 *
 * <p>The caller owns the handles that are returned, and unmaps or closes them. The end of the session unmaps the rest.
 */
public interface LtMemory {

    /**
     * {@code LT_malloc}: creates an LMR, filled with zeros, and maps it with all permissions. The caller's principal becomes its
     * master.
     *
     * @throws LmrExistsException when the name is in use
     * @throws LimitExceededException when a limit or the free memory of a chosen node is too small; nothing was allocated
     * @throws NodeUnreachableException when a chosen node is unknown or does not answer
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws LiteTimeoutException when the deadline passed first; an LMR that is created late is freed in the background
     */
    LmrHandle malloc(LmrSpec spec, Duration deadline);

    /** {@link #malloc(LmrSpec, Duration)} with the session's deadline. */
    LmrHandle malloc(LmrSpec spec);

    /**
     * {@code LT_map}: creates a handle for the LMR with this name.
     *
     * @param permissions the permissions of the handle, at least one
     * @throws LmrNotFoundException when no LMR has this name
     * @throws LmrPermissionException when the caller's principal lacks one of the permissions
     * @throws ClusterUnavailableException when the directory cannot be reached
     * @throws LiteTimeoutException when the deadline passed first
     */
    LmrHandle map(String name, Set<Permission> permissions, Duration deadline);

    /** {@link #map(String, Set, Duration)} with the session's deadline. */
    LmrHandle map(String name, Set<Permission> permissions);

    /** {@link #map(String, Set)} with these permissions. */
    default LmrHandle map(String name, Permission first, Permission... more) {
        return map(name, EnumSet.of(first, more));
    }

    /**
     * {@code LT_map} by id, for anonymous LMRs: the creator sends the id to its peers. The node that created the LMR answers, not the
     * directory, so millions of such LMRs are possible.
     *
     * @param id the id from {@link LmrHandle#id}
     * @param permissions the permissions of the handle, at least one
     * @throws LmrNotFoundException when no LMR has this id, or it was freed
     * @throws LmrPermissionException when the caller's principal lacks one of the permissions
     * @throws NodeUnreachableException when the node that created the LMR cannot be reached
     * @throws LiteTimeoutException when the deadline passed first
     */
    LmrHandle map(long id, Set<Permission> permissions, Duration deadline);

    /** {@link #map(long, Set, Duration)} with the session's deadline. */
    LmrHandle map(long id, Set<Permission> permissions);

    /** {@link #map(long, Set)} with these permissions. */
    default LmrHandle map(long id, Permission first, Permission... more) {
        return map(id, EnumSet.of(first, more));
    }

    /**
     * Creates an LMR with the content of existing memory: {@link #malloc} of {@code spec}, then a copy of the segment's bytes. The LMR
     * becomes visible to others when its content is complete. The segment stays the caller's; later changes to it do not change the
     * LMR, because a node serves LMRs only from memory that it registered with the fabric.
     *
     * <p>Waits at most for the session's deadline. Throws what {@link #malloc} throws; nothing is allocated then.
     *
     * @param spec its size must be the size of the segment
     * @throws IllegalArgumentException when the sizes differ
     */
    LmrHandle register(LmrSpec spec, MemorySegment segment);

    /**
     * {@code LT_memcpy}: copies between two LMRs, or within one if the ranges do not overlap. The data does not pass through the caller:
     * the nodes that store the source copy it. Returns when readers see the bytes. Needs {@link Permission#READ} on {@code source} and
     * {@link Permission#WRITE} on {@code destination}. Waits at most for the session's deadline.
     *
     * <p>For further errors see {@link LmrHandle}. After an error other than bounds or permission some bytes may have been copied.
     *
     * @param length the number of bytes; 0 does nothing
     * @throws IllegalArgumentException when the ranges overlap, or a handle belongs to another session
     * @throws NodeUnreachableException when a node that stores a part of either range does not answer
     */
    void memcpy(LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length);

    /** {@code LT_memmove}: {@link #memcpy} of ranges that may overlap. */
    void memmove(LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length);

    /**
     * Waits until every asynchronous operation that this session started before this call has ended, successfully or not.
     *
     * @throws LiteTimeoutException when some had not ended at the deadline
     */
    void fence(Duration deadline);
}
