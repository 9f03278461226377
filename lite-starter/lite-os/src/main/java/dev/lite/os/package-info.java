/**
 * The Linux calls that LITE needs, by {@code java.lang.foreign} alone: shared memory, futexes, Unix sockets that pass
 * descriptors, TCP sockets that send from and receive into any memory, epoll, process descriptors, memory barriers.
 *
 * <p>Every entry point throws {@link java.lang.UnsupportedOperationException} with the reason of {@link
 * dev.lite.os.Linux#unsupported()} on other systems, and {@link dev.lite.os.OsException} when a system call fails. Blocking
 * calls pin their carrier: keep them off virtual threads. Raw addresses are not checked: a wrong one crashes the process.
 *
 * <p>One room, although it has more than 20 classes: they share the package-private links to the C library, which must not
 * become public.
 */
@NullMarked
package dev.lite.os;

import org.jspecify.annotations.NullMarked;
