package dev.lite.api;

/** Locks and barriers by name, across the cluster (paper §7.2). Any thread. */
public interface LtSync {
    /**
     * The lock of this name; it is made with its first use, at the node of whoever used it first.
     *
     * @throws ClusterUnavailableException when it is not known here yet and the directory cannot be reached
     */
    LtLock lock(String name);

    /**
     * The barrier of this name; it is made with its first use.
     *
     * @param parties how many have to arrive, at least 1; the same at all of them
     * @throws ClusterUnavailableException when it is not known here yet and the directory cannot be reached
     */
    LtBarrier barrier(String name, int parties);
}
