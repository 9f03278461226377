@NullMarked
package dev.lite.os;

import org.jspecify.annotations.NullMarked;
