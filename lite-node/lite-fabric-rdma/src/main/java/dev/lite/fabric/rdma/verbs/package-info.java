/**
 * The bindings to the RDMA stack: DiSNI's native calls on raw pointers, the memory layouts that these calls read and write, and this
 * host's devices and limits.
 */
@NullMarked
package dev.lite.fabric.rdma.verbs;

import org.jspecify.annotations.NullMarked;
