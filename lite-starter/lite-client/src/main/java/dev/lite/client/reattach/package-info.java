/**
 * A {@link dev.lite.api.Lite} that outlives its node: when the node restarts, the next call attaches again, and handles, locks,
 * barriers, bound functions and handlers continue at the new session. Uses only {@code dev.lite.api}, so it works over every
 * session.
 */
@NullMarked
package dev.lite.client.reattach;

import org.jspecify.annotations.NullMarked;
