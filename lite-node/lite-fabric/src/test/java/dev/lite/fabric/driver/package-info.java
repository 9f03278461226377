/** Tests of what drivers share, with a driver that carries nothing. */
@NullMarked
package dev.lite.fabric.driver;

import org.jspecify.annotations.NullMarked;
