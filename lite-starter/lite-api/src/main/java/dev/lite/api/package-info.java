/**
 * What an application compiles against: named remote memory regions (LMRs), their handles, permissions and errors.
 *
 * <p>The words are those of the paper "LITE Kernel RDMA Support for Datacenter Applications" (SOSP 2017). Sizes and
 * offsets are bytes and always {@code long}; times are {@link java.time.Duration}. Everything that can wait takes a
 * deadline, or uses the session's configured one.
 */
@NullMarked
package dev.lite.api;

import org.jspecify.annotations.NullMarked;
