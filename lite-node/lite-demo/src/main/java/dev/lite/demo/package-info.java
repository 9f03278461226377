/**
 * The demo {@code mvn -Pdemo}: starts a manager, three nodes and three applications as separate processes, stores a real file
 * in remote memory, compares what comes back, and reports. Start with {@link dev.lite.demo.DemoMain}.
 */
@NullMarked
package dev.lite.demo;

import org.jspecify.annotations.NullMarked;
