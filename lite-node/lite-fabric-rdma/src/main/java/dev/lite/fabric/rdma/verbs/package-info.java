/** The verbs and the connection manager of the RDMA stack as static calls on raw pointers, and what this host has of them. */
@NullMarked
package dev.lite.fabric.rdma.verbs;

import org.jspecify.annotations.NullMarked;
