/** Attacks on a running cluster, by programs that use the public protocols only. {@code mvn -Phostile verify} runs them. */
@NullMarked
package dev.lite.system.hostile;

import org.jspecify.annotations.NullMarked;
