package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * Creates, maps and copies remote memory regions, named or anonymous (paper Table 1, §4). Sizes and offsets are in bytes. Any number of
 * threads may call any method. A method blocks at most until its deadline, and throws {@link SessionLostException} when the session has
 * ended.
 *
 * <p>The caller owns the returned handles, and unmaps or closes them. The end of the session unmaps the rest.
 */
public interface LtMemory {

    /**
     * {@code LT_malloc}: creates an LMR, filled with zeros, and maps it with all permissions. The caller's principal becomes its
     * master.
     *
     * @throws LmrExistsException when the name is in use
     * @throws LmrPermissionException when the session's principal may not create LMRs of this name
     * @throws LimitExceededException when a limit or the free memory of a chosen node is too small; nothing was allocated
     * @throws NodeUnreachableException when a chosen node is unknown or does not answer
     * @throws ClusterUnavailableException when the LMR has a name and the directory cannot be reached
     * @throws LiteTimeoutException when the deadline passed first; an LMR that is created late is freed in the background
     */
    LmrHandle malloc(LmrSpec spec, Duration deadline);

    /** {@link #malloc(LmrSpec, Duration)} with the session's deadline. */
    LmrHandle malloc(LmrSpec spec);

    /**
     * Maps the LMR with the name of {@code spec}, or creates it if there is none. Use it in services that restart or have replicas. It is
     * atomic across the cluster: of several concurrent callers one creates the LMR, and all map the same one. In either case the handle
     * has exactly {@code permissions}.
     *
     * <p>Size and default permissions of an existing LMR must be those of {@code spec}. Its placement and lifetime are not
     * compared: operators may move an LMR.
     *
     * @param spec must have a name
     * @param permissions what the handle allows, at least one
     * @throws IllegalArgumentException if {@code spec} has no name, or {@code permissions} is empty
     * @throws LmrExistsException if an LMR of this name has another size or other default permissions; the message has both
     * @throws LmrPermissionException if the LMR exists and the session's principal lacks one of {@code permissions}, or the principal
     *     may not create and map LMRs of this name
     * @throws LimitExceededException like {@link #malloc(LmrSpec, Duration)}
     * @throws NodeUnreachableException like {@link #malloc(LmrSpec, Duration)}
     * @throws ClusterUnavailableException if the directory cannot be reached, or does not answer; the LMR may exist then
     * @throws LiteTimeoutException if the deadline passed first; the LMR may exist then
     */
    LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration deadline);

    /** {@link #createOrMap(LmrSpec, Set, Duration)} with the session's deadline. */
    LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions);

    /** {@link #createOrMap(LmrSpec, Set)} with these permissions. */
    default LmrHandle createOrMap(LmrSpec spec, Permission first, Permission... more) {
        return createOrMap(spec, Permission.setOf(first, more));
    }

    /** {@link #createOrMap(LmrSpec, Set)} with the permissions READ, WRITE and ATOMIC. */
    default LmrHandle createOrMap(LmrSpec spec) {
        return createOrMap(spec, EnumSet.of(Permission.READ, Permission.WRITE, Permission.ATOMIC));
    }

    /**
     * Checks what {@link #createOrMap(LmrSpec, Set, Duration)} requires of its arguments.
     *
     * @throws IllegalArgumentException if {@code spec} has no name, or {@code permissions} is empty
     */
    static void checkCreateOrMap(LmrSpec spec, Set<Permission> permissions) {
        String name = Objects.requireNonNull(spec, "spec").name();
        if (name == null) {
            throw new IllegalArgumentException(
                    "createOrMap of an LMR of %d bytes without a name; use withName".formatted(spec.size()));
        }
        if (Permission.copyOf(permissions, "permissions").isEmpty()) {
            throw new IllegalArgumentException("createOrMap of LMR \"%s\" without a permission; at least one is needed"
                    .formatted(Names.shown(name)));
        }
    }

    /**
     * Checks what {@link #map(String, Set, Duration)} requires of its arguments.
     *
     * @throws IllegalArgumentException if the name is invalid (see {@link LmrSpec#checkName}), or {@code permissions} is empty
     */
    static void checkMap(String name, Set<Permission> permissions) {
        LmrSpec.checkName(name);
        if (Permission.copyOf(permissions, "permissions").isEmpty()) {
            throw new IllegalArgumentException(
                    "map of LMR \"%s\" without a permission; at least one is needed".formatted(Names.shown(name)));
        }
    }

    /**
     * Checks what {@link #map(long, Set, Duration)} requires of its arguments.
     *
     * @throws IllegalArgumentException if {@code permissions} is empty
     */
    static void checkMap(long id, Set<Permission> permissions) {
        if (Permission.copyOf(permissions, "permissions").isEmpty()) {
            throw new IllegalArgumentException(
                    "map of LMR #%d without a permission; at least one is needed".formatted(id));
        }
    }

    /**
     * Checks what {@link #register} requires of its arguments.
     *
     * @throws IllegalArgumentException if the sizes differ
     */
    static void checkRegister(LmrSpec spec, MemorySegment segment) {
        long size = Objects.requireNonNull(spec, "spec").size();
        long bytes = Objects.requireNonNull(segment, "segment").byteSize();
        if (size != bytes) {
            throw new IllegalArgumentException(
                    "the segment has %d bytes, but the size of the LMR is %d".formatted(bytes, size));
        }
    }

    /**
     * {@code LT_map}: creates a handle for the LMR with this name.
     *
     * @param permissions the permissions of the handle, at least one
     * @throws LmrNotFoundException when no LMR has this name
     * @throws LmrPermissionException when the session's principal lacks one of the permissions, or may not map LMRs of this name
     * @throws ClusterUnavailableException when the directory cannot be reached
     * @throws LiteTimeoutException when the deadline passed first
     */
    LmrHandle map(String name, Set<Permission> permissions, Duration deadline);

    /** {@link #map(String, Set, Duration)} with the session's deadline. */
    LmrHandle map(String name, Set<Permission> permissions);

    /** {@link #map(String, Set)} with these permissions. */
    default LmrHandle map(String name, Permission first, Permission... more) {
        return map(name, Permission.setOf(first, more));
    }

    /**
     * {@code LT_map} by id, for anonymous LMRs: the creator sends the id to its peers. This asks the node that created the LMR, not the
     * directory, so millions of such LMRs are possible.
     *
     * @param id the id from {@link LmrHandle#id}
     * @param permissions the permissions of the handle, at least one
     * @throws LmrNotFoundException when no LMR has this id, or it was freed
     * @throws LmrPermissionException when the session's principal lacks one of the permissions
     * @throws NodeUnreachableException when the node that created the LMR cannot be reached
     * @throws LiteTimeoutException when the deadline passed first
     */
    LmrHandle map(long id, Set<Permission> permissions, Duration deadline);

    /** {@link #map(long, Set, Duration)} with the session's deadline. */
    LmrHandle map(long id, Set<Permission> permissions);

    /** {@link #map(long, Set)} with these permissions. */
    default LmrHandle map(long id, Permission first, Permission... more) {
        return map(id, Permission.setOf(first, more));
    }

    /**
     * Creates an LMR with the content of existing memory: {@link #malloc} of {@code spec}, then a copy of the segment's bytes. The LMR
     * becomes visible to others when its content is complete. The caller keeps the segment; later changes to it do not change the
     * LMR.
     *
     * <p>Waits at most for the session's deadline. Throws the exceptions of {@link #malloc}; nothing is allocated then.
     *
     * @param spec its size must be that of the segment
     * @param segment read only during this call
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
     * Waits until every asynchronous operation that this session started before this call has ended,
     * successfully or not. An interrupt does not end this wait, and is kept.
     *
     * @throws LiteTimeoutException when some had not ended at the deadline
     */
    void fence(Duration deadline);
}
