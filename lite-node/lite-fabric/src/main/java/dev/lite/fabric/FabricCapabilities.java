package dev.lite.fabric;

/**
 * What the tier may count on.
 *
 * @param operationBytesMax the longest single read or write, in bytes
 * @param registeredLocalMemory whether local memory in a post must lie in the registered memory
 * @param oneSided whether reads and writes use no CPU of the peer
 */
public record FabricCapabilities(long operationBytesMax, boolean registeredLocalMemory, boolean oneSided) {}
