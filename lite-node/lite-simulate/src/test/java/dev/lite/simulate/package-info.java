@NullMarked
package dev.lite.simulate;

import org.jspecify.annotations.NullMarked;
