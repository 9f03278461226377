/**
 * Closed loops: threads that repeat an operation as fast as it completes, in a process of their own, against a server in
 * another one. Every system that takes part implements {@link Contender} and is found by {@link java.util.ServiceLoader}.
 */
@NullMarked
package dev.lite.bench.load;

import org.jspecify.annotations.NullMarked;
