package dev.lite.api;

/**
 * A run of an LMR's bytes that lies on one node, as its master sees it. Where in that node's memory it lies is not told:
 * raw addresses never reach an application (paper §3.3).
 *
 * @param node the node's name
 * @param offset the first byte's offset in the LMR
 * @param length bytes
 */
public record Extent(String node, long offset, long length) {}
