@NullMarked
package dev.lite.samples.priceboard;

import org.jspecify.annotations.NullMarked;
