/**
 * The Linux calls that LITE needs, by {@code java.lang.foreign} alone: shared memory, futexes, Unix sockets that pass
 * descriptors, TCP sockets that send from and receive into any memory, epoll, process descriptors, memory barriers.
 *
 * <p>Every entry point throws {@link java.lang.UnsupportedOperationException} with the reason of
 * {@link dev.lite.os.Linux#unsupported()} on other systems, and {@link dev.lite.os.OsException} when the kernel refuses.
 * Calls that may block hold their carrier: keep them off virtual threads. Raw addresses are not checked: a wrong one ends the
 * process.
 */
@NullMarked
package dev.lite.os;

import org.jspecify.annotations.NullMarked;
