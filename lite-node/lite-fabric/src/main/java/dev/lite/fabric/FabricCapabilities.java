package dev.lite.fabric;

/**
 * What the tier may count on.
 *
 * @param operationBytesMax the longest single read or write, in bytes
 * @param registeredLocalMemory whether local memory in a post must lie in the registered memory
 * @param oneSided whether reads and writes use no CPU of the peer
 * @param atomicsByOwner whether atomic steps are made by the owner of the word, inside its {@link Fabric#poll}
 */
public record FabricCapabilities(
        long operationBytesMax, boolean registeredLocalMemory, boolean oneSided, boolean atomicsByOwner) {}
