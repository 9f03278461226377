package dev.lite.api;

import java.time.Duration;
import java.util.Set;

/** The memory half of LITE's interface (paper Table 1, §4). Every method may be called by any number of threads. */
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
}
