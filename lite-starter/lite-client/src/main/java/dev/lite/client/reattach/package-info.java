/**
 * A {@link dev.lite.api.Lite} that outlives its node: after a restart of the node the next call attaches again, and handles, locks,
 * barriers, bound functions and handlers continue with the new session. It wraps any session, because it uses only {@code
 * dev.lite.api}.
 */
@NullMarked
package dev.lite.client.reattach;

import org.jspecify.annotations.NullMarked;
