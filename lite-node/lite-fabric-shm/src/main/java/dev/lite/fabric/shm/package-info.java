/**
 * The shared-memory fabric: the nodes of one host map each other's registered memory.
 *
 * <p><b>Connecting.</b> A node listens on a Unix socket. Who connects passes the descriptors of its memory, of its doorbell
 * and of two rings for the pair; who accepts answers with its memory and its doorbell. The socket then stays open for one
 * purpose: its end is the end of the connection, also when the peer was killed.
 *
 * <p><b>Operations</b> are loads, stores and CPU atomics of the posting thread on the mapped memory, done when the post
 * returns. An immediate is one entry in the ring to the peer, published after the data. Short data travels in the entry, and
 * the peer's poller puts it in its place.
 *
 * <p><b>Waiting.</b> Each node has one doorbell: a futex word that says whether its poller sleeps. A sender looks at it after it
 * published, and makes a system call only when somebody sleeps.
 *
 * <p><b>Threads.</b> One thread accepts, and one for each connection shakes hands and then waits for its end; they tell the
 * poller by a queue and never call the handler.
 */
@NullMarked
package dev.lite.fabric.shm;

import org.jspecify.annotations.NullMarked;
