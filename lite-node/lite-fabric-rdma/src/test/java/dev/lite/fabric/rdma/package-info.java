/** Tests of the RDMA driver. */
@NullMarked
package dev.lite.fabric.rdma;

import org.jspecify.annotations.NullMarked;
