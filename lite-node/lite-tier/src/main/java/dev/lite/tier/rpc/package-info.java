/**
 * Calls and messages between nodes and on one node (paper §5.1).
 *
 * <p>A call is one write-with-immediate into a ring on the server's node. The reply is one write-with-immediate into a
 * slot on the caller's node. Each calling node, function and principal has its own ring, which is made at the first
 * call and lives as long as the connection. A request that is too long for the ring stays in the caller's slot, and the
 * server reads it from there, one-sided; so does the caller with a reply that is too long for its slot. No thread waits
 * for a send completion. {@link dev.lite.tier.rpc.RpcEngine} is the node's side, {@link dev.lite.tier.rpc.SessionRpc}
 * one session's side. {@link dev.lite.tier.rpc.PostedCall} and {@link dev.lite.tier.rpc.PostedReceive} are for callers
 * and servers that have no thread to wait with; they share the slots, rings and queues of the others, so all are in one
 * package, which has a little more than 20 classes.
 */
@NullMarked
package dev.lite.tier.rpc;

import org.jspecify.annotations.NullMarked;
