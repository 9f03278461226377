/**
 * LITE-Log (paper §8.1): a log that any process of the cluster appends to, reads and cleans by one-sided operations on named
 * memory. No server is involved. Start with {@link dev.lite.log.LiteLogs}; {@code docs/log.md} describes the layout.
 */
@NullMarked
package dev.lite.log;

import org.jspecify.annotations.NullMarked;
