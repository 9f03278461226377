/**
 * The fabric SPI: what a driver offers to the tier. It carries bytes between the registered memories of two nodes and
 * knows nothing of LMRs, names or permissions.
 *
 * <p><b>Threads.</b> One thread at a time holds the poll role of a {@link dev.lite.fabric.Fabric}: it calls
 * {@link dev.lite.fabric.Fabric#poll} and {@link dev.lite.fabric.Fabric#await}, and every
 * {@link dev.lite.fabric.FabricHandler} method runs on it, inside {@code poll}. Everything else may be called by any thread.
 *
 * <p><b>Exactly once.</b> A post answers {@link dev.lite.fabric.Post}: after {@code ACCEPTED} exactly one
 * {@code completed} or {@code failed} follows with the post's context, also when the endpoint or the fabric is closed;
 * after any other answer none does.
 *
 * <p><b>Ownership.</b> Local memory named in a post belongs to the driver from the post until its completion (until the
 * post returns, when that is {@code DONE}), and is the caller's again afterwards. After {@code BUSY} and {@code CLOSED} the
 * driver never had it.
 *
 * <p><b>Order.</b> Posts to one endpoint may be carried out in any order, with one promise: the data of a
 * {@code writeImm}, and of every operation to the same endpoint that was complete before it was posted, is visible at the
 * peer before its immediate arrives. Immediates of one posting thread arrive in the order of posting.
 */
@NullMarked
package dev.lite.fabric;

import org.jspecify.annotations.NullMarked;
