/** The contenders that need libraries which nothing else of this project uses. */
@NullMarked
package dev.lite.bench.peers;

import org.jspecify.annotations.NullMarked;
