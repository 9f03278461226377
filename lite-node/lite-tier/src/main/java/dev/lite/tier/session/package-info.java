/**
 * The node's side of sessions: admits local applications, gives each a control channel and shared memory, and carries out
 * what they ask, as their principal. Applications are not trusted: whatever one of them sends or writes, at worst its own
 * session ends.
 */
@NullMarked
package dev.lite.tier.session;

import org.jspecify.annotations.NullMarked;
