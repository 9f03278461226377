/** How threads wait for drivers whose news come by a descriptor of the system's. */
@NullMarked
package dev.lite.fabric.waiting;

import org.jspecify.annotations.NullMarked;
