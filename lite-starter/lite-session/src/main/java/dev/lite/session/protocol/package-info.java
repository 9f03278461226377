/**
 * The session protocol: what an application's client and its host's node say to each other. Both sides use these classes.
 *
 * <p>There are two paths. The <b>control channel</b> is a Unix socket that keeps message boundaries
 * ({@link dev.lite.session.protocol.SessionChannel}, {@link dev.lite.session.protocol.SessionMessage}); it carries what
 * happens seldom: attach, malloc, map, unmap, free, questions. The <b>data path</b> is memory that both processes map
 * ({@link dev.lite.session.protocol.SessionArea}); it carries reads, writes and atomic operations.
 *
 * <p>The node trusts nothing that comes from the application on either path. The application trusts its node.
 */
@NullMarked
package dev.lite.session.protocol;

import org.jspecify.annotations.NullMarked;
