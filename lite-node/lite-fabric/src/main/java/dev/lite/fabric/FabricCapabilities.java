package dev.lite.fabric;

/**
 * What a fabric offers. The same for every connection of a fabric, and known as soon as it is open.
 *
 * @param operationBytesMax the longest single read or write, in bytes
 * @param sameHostOnly whether only peers on the same host can be reached
 * @param oneSided whether reads and writes use no CPU of the peer
 * @param atomicsByOwner whether the owner of the word carries out atomic operations, inside its {@link Fabric#poll}
 */
public record FabricCapabilities(
        long operationBytesMax, boolean sameHostOnly, boolean oneSided, boolean atomicsByOwner) {}
