/** Resilience4j around the application's session: circuit breakers, retries, bulkheads and a rate limiter. */
@NullMarked
package dev.lite.boot.resilience;

import org.jspecify.annotations.NullMarked;
