/**
 * The fabric SPI, which drivers implement and the tier uses. A fabric moves bytes between the registered memories of two nodes. It
 * knows nothing of LMRs, names or permissions.
 *
 * <p><b>Threads.</b> One thread at a time holds the poll role of a {@link dev.lite.fabric.Fabric}: it calls
 * {@link dev.lite.fabric.Fabric#poll} and {@link dev.lite.fabric.Fabric#await}, and every
 * {@link dev.lite.fabric.FabricHandler} method runs on it, inside {@code poll}. Everything else may be called by any thread.
 *
 * <p><b>Exactly once.</b> A post answers with a {@link dev.lite.fabric.Post}. After {@code ACCEPTED}, exactly one
 * {@code completed} or {@code failed} follows with the post's context, also if the endpoint or the fabric is closed.
 * After any other answer, none follows.
 *
 * <p><b>Ownership.</b> The local memory of a post belongs to the driver until its completion, or until the post returns if the
 * answer is {@code DONE}. After {@code BUSY} and {@code CLOSED}, the caller still owns it.
 *
 * <p><b>Order.</b> Posts to one endpoint may be carried out in any order, with one guarantee: the data of a
 * {@code writeImm}, and of every operation on the same endpoint that completed before it was posted, is visible at the
 * peer before its immediate arrives. Immediates of one posting thread arrive in the order of the posts.
 */
@NullMarked
package dev.lite.fabric;

import org.jspecify.annotations.NullMarked;
