package dev.lite.api;

/**
 * A range of an LMR's bytes that one node stores. Only masters see extents; addresses in a node's memory never reach an
 * application (paper §3.3).
 *
 * @param node the node's name
 * @param offset the offset of the first byte in the LMR, in bytes
 * @param length the length in bytes
 */
public record Extent(String node, long offset, long length) {}
