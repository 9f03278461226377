/** The tier: one node's memory, one-sided operations and sessions, on top of a fabric and a cluster directory. */
@NullMarked
package dev.lite.tier;

import org.jspecify.annotations.NullMarked;
