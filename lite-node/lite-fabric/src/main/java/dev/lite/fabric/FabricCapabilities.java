package dev.lite.fabric;

/**
 * What a fabric offers: the same for all its connections, and known as soon as it is open.
 *
 * @param operationBytesMax the longest single read or write, in bytes
 * @param sameHostOnly whether only peers on the same host can be reached
 * @param oneSided whether reads and writes use no CPU of the peer
 * @param atomicsByOwner whether the owner of a word carries out atomic operations on it, inside its {@link Fabric#poll}
 * @param lanesMax how many lanes to a peer {@link FabricEndpoint#onLanes} tells apart at most; 1: it cannot
 */
public record FabricCapabilities(
        long operationBytesMax, boolean sameHostOnly, boolean oneSided, boolean atomicsByOwner, int lanesMax) {}
