package dev.lite.fabric;

import org.jspecify.annotations.Nullable;

/**
 * A separate TCP connection between two nodes, which the fabric hands to a user: see {@link FabricEndpoint#openStream}. After the
 * handshake the fabric sends nothing over it.
 *
 * @param descriptor of a connected socket that does not block; its owner must close it
 * @param keys to encrypt the stream with; null if the connection of the nodes is not encrypted
 */
public record FabricStream(int descriptor, @Nullable FabricKeys keys) {}
