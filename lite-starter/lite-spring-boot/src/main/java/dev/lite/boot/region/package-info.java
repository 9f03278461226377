/** Handles of LMRs that are injected, and mapped at their first use: {@link dev.lite.boot.region.LiteRegion}. */
@NullMarked
package dev.lite.boot.region;

import org.jspecify.annotations.NullMarked;
