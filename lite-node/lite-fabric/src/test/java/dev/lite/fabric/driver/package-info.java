/** Tests of the code that all drivers share, with a driver that transfers nothing. */
@NullMarked
package dev.lite.fabric.driver;

import org.jspecify.annotations.NullMarked;
