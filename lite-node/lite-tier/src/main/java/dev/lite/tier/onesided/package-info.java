/** One-sided operations on memory that is not mapped into this process, by posts to the fabric. */
@NullMarked
package dev.lite.tier.onesided;

import org.jspecify.annotations.NullMarked;
