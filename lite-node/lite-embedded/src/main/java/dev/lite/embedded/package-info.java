/**
 * A node inside the application's own JVM: for tests, and for tools of a single process. It is the paper's kernel-level
 * caller: nothing stands between the application and the tier. Start with {@link dev.lite.embedded.EmbeddedNode}; with Spring
 * Boot it starts by itself and offers its {@link dev.lite.api.Lite}.
 */
@NullMarked
package dev.lite.embedded;

import org.jspecify.annotations.NullMarked;
