/**
 * The TCP fabric: nodes on ordinary hosts.
 *
 * <p><b>Lanes.</b> A connection has up to four TCP connections. The first carries what is small and every immediate, so that a large
 * transfer never holds up a small one; reads and writes of more than 16 KiB go over the others.
 *
 * <p><b>Who does what.</b> The posting thread sends by itself when the lane is free. The owner of a memory carries out what peers
 * ask for in its poll role, as its bytes arrive: a write's payload is received where it belongs, a read's answer is sent from
 * where it lies. An operation is complete when the owner acknowledged it. Acknowledgements of immediates ride on the next frame that goes
 * the same way, so that a call and its reply cost one packet each way.
 *
 * <p><b>Waiting.</b> No thread but those that wait: there is no event loop of the driver's own that a caller would have to hand its
 * post to and be woken by. That is why this driver is built on the system's calls and not on Netty. Measured on two
 * cores, two processes, 64 bytes there and back over loopback, a calling thread that waits, 20 looks before it sleeps: blocking-free Java sockets polled
 * by the caller 8.4 µs, the system's calls 8.2 µs, Netty 4.2.17 with its event loop 31 µs (epoll) and 84 µs (NIO), at best
 * 20 µs with a busy loop or 2,000 looks. The hop to the event loop and back costs more than the whole round trip.
 *
 * <p><b>Trust.</b> See {@link dev.lite.fabric.driver.LaneHandshake}. After it, frames are checked before anything is allocated or
 * touched, and one that makes no sense ends its connection with a reason.
 */
@NullMarked
package dev.lite.fabric.tcp;

import org.jspecify.annotations.NullMarked;
