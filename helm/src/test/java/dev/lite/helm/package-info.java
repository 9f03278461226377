/** Tests of the Helm chart: rendered by Helm itself, without a cluster. */
@NullMarked
package dev.lite.helm;

import org.jspecify.annotations.NullMarked;
