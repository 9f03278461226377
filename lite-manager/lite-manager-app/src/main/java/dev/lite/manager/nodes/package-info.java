/** Asks the nodes for what only they know: the use of their memory, their sessions, links and locks. */
@NullMarked
package dev.lite.manager.nodes;

import org.jspecify.annotations.NullMarked;
