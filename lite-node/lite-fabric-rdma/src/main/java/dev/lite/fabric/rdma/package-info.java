/**
 * The RDMA fabric: nodes on hosts whose network cards read and write each other's memory.
 *
 * <p>DiSNI calls the verbs and the connection manager. Its native half is this module's own {@code libdisni}, in
 * {@code src/main/c}. The driver writes requests and reads completions in native memory, so an operation allocates
 * nothing.
 *
 * <p><b>Lanes.</b> A connection has up to four reliable connected queue pairs. The first carries small operations,
 * every immediate and every atomic step, so that a large transfer never delays a small one. Reads and writes of more
 * than 16 KiB use the others. All lanes of a node share one protection domain and one completion queue. The queue has
 * entries for all requests that can be in flight, so it never overflows.
 *
 * <p><b>Processors.</b> Reads, writes and the data of immediates use no processor of the peer. An atomic step is a
 * small message to the owner of the word, which executes it in the poll role. So all atomic steps on a word, including
 * the owner's, take one path. The card's own atomics would not.
 *
 * <p><b>Completions.</b> The driver identifies requests by their own number, never by the queue pair that the device
 * reports. Any error ends the connection: its queue pairs are destroyed. When no more of their completions can come,
 * each outstanding request fails once. Only then may another connection use their place.
 *
 * <p><b>Liveness.</b> A silent peer is probed with an empty write, which its card acknowledges. So a connection ends
 * when the machine, the card or the process is gone, but not when the process is only paused. Then reads and writes of
 * its memory still work; calls and atomic steps, which need its processor, end at their caller's deadline. ZooKeeper,
 * not the fabric, decides which nodes belong to the cluster, by sessions that need running threads; removed nodes are
 * disconnected.
 *
 * <p><b>Waiting.</b> A thread that is about to stop polling arms the device, which then announces one completion. While
 * none of this node's own requests is in flight, the device is armed only for messages of peers. So a thread that polls
 * for the completion of its own write makes no system call; see {@link dev.lite.fabric.rdma.Announcements}.
 *
 * <p><b>Trust.</b> See {@link dev.lite.fabric.driver.LaneHandshake} and {@link dev.lite.fabric.driver.Connections}. The
 * keys of the registered memory are sent after both sides proved that they know the secret. As with TCP without TLS,
 * the start of a connection is authenticated, not every byte: an attacker who can inject frames into the network can
 * inject them into a connection. RDMA offers no stronger protection; keep untrusted hosts off the network.
 */
@NullMarked
package dev.lite.fabric.rdma;

import org.jspecify.annotations.NullMarked;
