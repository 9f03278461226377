/**
 * The TCP fabric: nodes on ordinary hosts.
 *
 * <p><b>Lanes.</b> A connection has up to four TCP connections. The first carries small operations and every immediate,
 * so that a large transfer never delays a small one. Reads and writes of more than 16 KiB use the others.
 *
 * <p><b>Threads.</b> The posting thread sends if the lane is free, unless a poll will follow soon: then that sends the
 * frames of all threads in one write, see {@link dev.lite.fabric.tcp.Departures}. The owner of a memory executes peers' operations in
 * its poll role, as their bytes arrive: it receives a write's payload directly at its destination, and sends a read's
 * answer directly from memory. An operation is complete when the owner acknowledged it. The next frame in the same
 * direction carries acknowledgements of immediates, so that a call and its reply cost one packet each way.
 *
 * <p><b>Waiting.</b> The driver has no event loop: callers need not hand their posts over to one, and it need not wake
 * them. That is why the driver uses system calls and not Netty. Round trip of 64 bytes between two processes over
 * loopback on two cores, with a caller that polls 20 times before it blocks:
 *
 * <table>
 *   <caption>Round trips</caption>
 *   <tr><td>system calls</td><td>8.2 µs</td></tr>
 *   <tr><td>non-blocking Java sockets, polled by the caller</td><td>8.4 µs</td></tr>
 *   <tr><td>Netty 4.2.17, epoll</td><td>31 µs; at best 20 µs with a busy loop or 2,000 polls</td></tr>
 *   <tr><td>Netty 4.2.17, NIO</td><td>84 µs</td></tr>
 * </table>
 *
 * <p>The hop to the event loop and back costs more than the whole round trip.
 *
 * <p><b>Streams.</b> {@link dev.lite.fabric.FabricEndpoint#openStream} makes one more TCP connection with the same handshake, and then
 * gives its socket away. The node that accepted the connection of the two nodes also accepts its streams. It finds the connection by the
 * peer's hello and the connection's number.
 *
 * <p><b>Trust.</b> See {@link dev.lite.fabric.driver.LaneHandshake}. After the handshake, each frame is checked before
 * anything is allocated or accessed. An invalid frame ends its connection with a reason.
 */
@NullMarked
package dev.lite.fabric.tcp;

import org.jspecify.annotations.NullMarked;
