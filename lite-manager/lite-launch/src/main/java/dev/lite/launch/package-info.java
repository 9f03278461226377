/** The main class of every executable jar, compiled for Java 17. */
@NullMarked
package dev.lite.launch;

import org.jspecify.annotations.NullMarked;
