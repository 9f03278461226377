@NullMarked
package dev.lite.samples.ordercounter;

import org.jspecify.annotations.NullMarked;
