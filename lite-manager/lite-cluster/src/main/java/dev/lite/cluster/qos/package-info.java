/** The cluster's policy for quality of service: its values, its limits, and its record in the directory. */
@NullMarked
package dev.lite.cluster.qos;

import org.jspecify.annotations.NullMarked;
