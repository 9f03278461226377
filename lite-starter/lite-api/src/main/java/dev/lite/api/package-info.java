/**
 * The interface for applications: named remote memory regions (LMRs), calls, locks, barriers, permissions and errors. Start
 * with {@link dev.lite.api.Lite#attach}.
 *
 * <p>The terms come from the paper "LITE Kernel RDMA Support for Datacenter Applications" (SOSP 2017); section numbers in this
 * documentation refer to it. Sizes and offsets are in bytes and always {@code long}; times are {@link java.time.Duration}. Every
 * operation that can wait takes a deadline or uses the session's. A deadline that is not positive throws {@link
 * java.lang.IllegalArgumentException}.
 *
 * <p>This is one package although it has more than 20 types: an application imports from one place, the methods of every
 * interface throw the exceptions, and a sealed type and its subtypes must share a package.
 */
@NullMarked
package dev.lite.api;

import org.jspecify.annotations.NullMarked;
