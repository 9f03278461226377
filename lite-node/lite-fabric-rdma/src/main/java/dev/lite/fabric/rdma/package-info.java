/**
 * The RDMA fabric: nodes on hosts whose network cards read and write each other's memory.
 *
 * <p>DiSNI speaks to the verbs and to the connection manager; its native half is this module's own {@code libdisni}, in
 * {@code src/main/c}.
 */
@NullMarked
package dev.lite.fabric.rdma;

import org.jspecify.annotations.NullMarked;
