package dev.lite.cluster;

import java.util.List;

/** Receives changes of the directory, on its listener thread, one call at a time. Methods must not block. */
public interface DirectoryListener {

    /** The registered nodes changed; the list is complete and in the order of the ids. */
    default void nodesChanged(List<NodeRecord> nodes) {}

    /** The cluster's epoch changed: its membership, or a removal became fenced. Intermediate epochs may be skipped. */
    default void epochChanged(Epoch epoch) {}

    /** The directory became reachable ({@code true}) or unreachable. This alone loses nothing. */
    default void availabilityChanged(boolean available) {}

    /**
     * This process's registration was lost (its session expired) and will be made again after this call returns. The
     * process must have cut its connections and released everything it was granted under the old registration, because
     * others may have been granted it since. May block for a few seconds. If it throws anything, it is called again, and
     * the registration is not made before it has returned. May be called more than once before {@link #registeredAgain}.
     */
    default void registrationLost() {}

    /**
     * This process's registration was lost (its session expired) and made again with a new incarnation; follows
     * {@link #registrationLost}.
     *
     * @param registration the new one
     */
    default void registeredAgain(NodeRecord registration) {}

    /**
     * This process's registration was lost and cannot be made again: another live process has the name now. It is not
     * retried; the process should stop acting as that node.
     *
     * @param reason a description for people
     */
    default void registrationRefused(String reason) {}
}
