/**
 * Connections to other nodes: which node connects, over which fabric, which thread polls, and which nodes are fenced.
 */
@NullMarked
package dev.lite.tier.peer;

import org.jspecify.annotations.NullMarked;
