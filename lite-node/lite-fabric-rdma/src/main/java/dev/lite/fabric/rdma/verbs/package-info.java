/**
 * The bindings of the RDMA stack: DiSNI's native calls on raw pointers, the layouts of memory that these calls read and write, and the
 * devices and limits of this host.
 */
@NullMarked
package dev.lite.fabric.rdma.verbs;

import org.jspecify.annotations.NullMarked;
