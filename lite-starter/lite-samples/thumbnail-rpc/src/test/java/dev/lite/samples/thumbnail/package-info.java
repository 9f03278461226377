@NullMarked
package dev.lite.samples.thumbnail;

import org.jspecify.annotations.NullMarked;
