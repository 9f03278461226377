/**
 * The TCP fabric: nodes on ordinary hosts.
 *
 * <p><b>Lanes.</b> A connection has up to four TCP connections. The first carries what is small and every immediate, so that a large
 * transfer never holds up a small one; reads and writes of more than 16 KiB go over the others.
 *
 * <p><b>Who does what.</b> The posting thread sends by itself when the lane is free. The owner of a memory carries out what peers
 * ask for in its poll role, as its bytes arrive: a write's payload is received where it belongs, a read's answer is sent from
 * where it lies. An operation is complete when the owner acknowledged it. Acknowledgements of immediates travel in the next frame in
 * the same direction, so that a call and its reply cost one packet each way.
 *
 * <p><b>Waiting.</b> The driver has no event loop of its own, to which a caller would have to pass its post and which would have to wake
 * the caller. That is why it uses system calls and not Netty. Round trip of 64 bytes between two processes over loopback on two cores,
 * with a caller that polls 20 times before it blocks:
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
 * <p><b>Trust.</b> See {@link dev.lite.fabric.driver.LaneHandshake}. After it, frames are checked before anything is allocated or
 * touched, and an invalid one ends its connection with a reason.
 */
@NullMarked
package dev.lite.fabric.tcp;

import org.jspecify.annotations.NullMarked;
