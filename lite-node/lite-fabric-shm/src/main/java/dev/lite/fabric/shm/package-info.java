/**
 * The shared-memory fabric: the nodes of one host map each other's registered memory.
 *
 * <p><b>Connecting.</b> A node listens on a Unix socket. The connecting node passes the descriptors of its memory, of its doorbell
 * and of two rings for the pair; the accepting node answers with its memory and its doorbell. The socket then stays open so that
 * its end reports the end of the connection, also if the peer was killed. Both nodes pass further descriptors over it.
 *
 * <p><b>Operations</b> are loads, stores and CPU atomics of the posting thread on the mapped memory, done when the post
 * returns. An immediate is one entry in the ring to the peer, published after the data. Short data travels in the entry, and
 * the peer's poller copies it to its place.
 *
 * <p><b>Waiting.</b> Each node has one doorbell: a futex word with the state of its poller. A sender reads it after it published,
 * and makes a system call only if a thread sleeps.
 *
 * <p><b>Threads.</b> One thread accepts. One thread for each connection performs the handshake, and then receives passed
 * descriptors until the socket's end.
 * They pass events to the poller through a queue and never call the handler.
 */
@NullMarked
package dev.lite.fabric.shm;

import org.jspecify.annotations.NullMarked;
