/**
 * The node's side of sessions: admits local applications, gives each a control channel and shared memory, and executes their requests
 * as their principal. Applications are not trusted: bad input ends at most the session it came from.
 */
@NullMarked
package dev.lite.tier.session;

import org.jspecify.annotations.NullMarked;
