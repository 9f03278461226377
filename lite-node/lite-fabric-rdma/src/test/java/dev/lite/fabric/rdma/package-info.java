/** Tests of the RDMA fabric. */
@NullMarked
package dev.lite.fabric.rdma;

import org.jspecify.annotations.NullMarked;
