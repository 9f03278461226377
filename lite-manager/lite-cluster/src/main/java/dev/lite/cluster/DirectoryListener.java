package dev.lite.cluster;

import java.util.List;

/** Told on a thread of the directory, one call at a time; must not block. */
public interface DirectoryListener {

    /** The registered nodes changed; the list is whole and in the order of the ids. */
    default void nodesChanged(List<NodeRecord> nodes) {}

    /**
     * The cluster's epoch changed: its membership, or a removal that is fenced now. Some on the way to it may have been
     * passed over.
     */
    default void epochChanged(Epoch epoch) {}

    /** The directory can be reached again ({@code true}) or not any more. Nothing is lost by that alone. */
    default void availabilityChanged(boolean available) {}

    /**
     * This process's registration was lost (its session expired), and it is about to be registered anew. That waits for the
     * return of this call: by then the process must have cut its connections and given up what it was granted as that
     * registration, because others may have been granted it, and take what is done under the new registration for rightful.
     * May block for a few seconds. May come more than once before {@link #registeredAgain}.
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
     * tried again; the process should stop acting as that node.
     *
     * @param reason in words
     */
    default void registrationRefused(String reason) {}
}
