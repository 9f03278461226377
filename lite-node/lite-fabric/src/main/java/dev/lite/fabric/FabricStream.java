package dev.lite.fabric;

import org.jspecify.annotations.Nullable;

/**
 * A TCP connection of its own between two nodes, for others to use: see {@link FabricEndpoint#openStream}. Nothing was sent over it since
 * it belongs to its user.
 *
 * @param descriptor of a connected socket that does not block; its owner must close it
 * @param keys to encrypt the stream with; null if the connection of the nodes is not encrypted
 */
public record FabricStream(int descriptor, @Nullable FabricKeys keys) {}
