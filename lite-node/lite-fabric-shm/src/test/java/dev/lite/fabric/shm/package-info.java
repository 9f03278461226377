@NullMarked
package dev.lite.fabric.shm;

import org.jspecify.annotations.NullMarked;
