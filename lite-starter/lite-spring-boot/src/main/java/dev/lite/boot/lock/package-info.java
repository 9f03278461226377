/** Methods that run under a lock of the cluster: {@link dev.lite.boot.lock.LiteLock}. */
@NullMarked
package dev.lite.boot.lock;

import org.jspecify.annotations.NullMarked;
