/** One-sided operations on memory that is not mapped into this process: posted to the fabric and waited for. */
@NullMarked
package dev.lite.tier.onesided;

import org.jspecify.annotations.NullMarked;
