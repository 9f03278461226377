/**
 * Calls and messages between nodes and on one node (paper §5.1).
 *
 * <p>A call is one write-with-immediate into a ring at the server's node, the reply one into a slot at the caller's. There is
 * a ring for each calling node, function and principal; it is made at the first call and lives as long as the connection. A
 * request that is too long for the ring stays in the caller's slot, and the server reads it from there, one-sided. No send
 * completion is awaited. {@link dev.lite.tier.rpc.RpcEngine} is the node's side, {@link dev.lite.tier.rpc.SessionRpc} one
 * session's.
 */
@NullMarked
package dev.lite.tier.rpc;

import org.jspecify.annotations.NullMarked;
