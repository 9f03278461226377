/**
 * A node's memory: the arena and its recoverable allocator, LMRs, and the handles on them (paper §4.1, architecture §3–§6).
 */
@NullMarked
package dev.lite.tier.memory;

import org.jspecify.annotations.NullMarked;
