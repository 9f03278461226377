/**
 * A node inside the application's own JVM, for tests and for single-process tools. It corresponds to the paper's kernel-level
 * caller: the application calls the tier directly. Start with {@link dev.lite.embedded.EmbeddedNode}. With Spring Boot, the
 * node starts automatically and provides the {@link dev.lite.api.Lite} bean.
 */
@NullMarked
package dev.lite.embedded;

import org.jspecify.annotations.NullMarked;
