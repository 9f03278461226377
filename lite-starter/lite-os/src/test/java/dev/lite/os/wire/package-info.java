@NullMarked
package dev.lite.os.wire;

import org.jspecify.annotations.NullMarked;
