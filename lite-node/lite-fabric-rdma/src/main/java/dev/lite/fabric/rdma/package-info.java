/**
 * The RDMA fabric: nodes on hosts whose network cards read and write each other's memory.
 *
 * <p>DiSNI speaks to the verbs and to the connection manager; its native half is this module's own {@code libdisni}, in
 * {@code src/main/c}. Requests and completions are written and read here, in native memory, so that an operation allocates nothing.
 *
 * <p><b>Lanes.</b> A connection has up to four reliable connected queue pairs. The first carries what is small, every immediate and every
 * atomic step, so that a large transfer never holds up a small one; reads and writes of more than 16 KiB go over the others. All lanes of a node
 * share one protection domain and one completion queue, whose entries suffice for all that can be under way; it never overflows.
 *
 * <p><b>Who does what.</b> Reads, writes and the data of immediates use no processor of the peer. An atomic step is a small message
 * to the owner of the word, whose processor carries it out in the poll role: so all atomic steps on a word, and the owner's own, take one
 * path, which a card's atomics would not.
 *
 * <p><b>Ends.</b> Requests are identified by the number that they were given, never by the queue pair that the device names. Any error
 * ends the connection: its queue pairs are destroyed, and when none of their completions can come any more, what had no end fails once.
 * Only then is their place given to another connection.
 *
 * <p><b>Life.</b> A silent peer is probed by an empty write, which its card acknowledges. So a connection ends when the
 * machine, the card or the process is gone, and not when the process only stands still: then its memory is read and written as before, and what
 * needs its processor, calls and atomic steps, ends by its caller's deadline. Not the fabric but
 * ZooKeeper decides which nodes belong to the cluster, by sessions that need running threads; removed nodes are disconnected.
 *
 * <p><b>Waiting.</b> The device announces a completion once after it was asked to, which is when a thread is about to stop polling. While nothing
 * of this node's own is under way it is asked for messages of peers only, so that a thread that polls for the end of its own write makes no system
 * call for it; see {@link dev.lite.fabric.rdma.Announcements}.
 *
 * <p><b>Trust.</b> See {@link dev.lite.fabric.driver.LaneHandshake} and {@link dev.lite.fabric.rdma.Connections}. The keys of the registered memory go over the
 * connection after both sides proved to know the secret. As with TCP without TLS, the beginning of a connection is
 * authenticated, not every byte: an attacker who can inject frames into the network can inject them into a connection. RDMA has no more to
 * offer; keep strangers off the network.
 */
@NullMarked
package dev.lite.fabric.rdma;

import org.jspecify.annotations.NullMarked;
