/**
 * The session protocol between an application's client and the node of its host. Both sides use these classes.
 *
 * <p>There are two paths. The <b>control channel</b> is a Unix socket that keeps message boundaries ({@link
 * dev.lite.session.protocol.SessionChannel}, {@link dev.lite.session.protocol.SessionMessage}). It carries rare requests: attach,
 * malloc, map, unmap, free, queries, waits for locks. The <b>data path</b> is memory that both processes map ({@link
 * dev.lite.session.protocol.SessionArea}). It carries reads, writes, atomic operations, calls, and locks that are free.
 *
 * <p>The node trusts nothing that the application sends on either path. The application trusts its node.
 */
@NullMarked
package dev.lite.session.protocol;

import org.jspecify.annotations.NullMarked;
