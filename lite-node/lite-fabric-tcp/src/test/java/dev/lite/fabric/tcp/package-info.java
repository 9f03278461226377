/** Tests of the TCP fabric. */
@NullMarked
package dev.lite.fabric.tcp;

import org.jspecify.annotations.NullMarked;
