/** Deadlines, and the one place where a thread sleeps between two polls of a condition that no thread signals. */
@NullMarked
package dev.lite.os.waiting;

import org.jspecify.annotations.NullMarked;
