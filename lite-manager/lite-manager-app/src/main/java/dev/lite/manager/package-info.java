/** The manager process: it takes part in the election of the cluster's leader and watches the membership. */
@NullMarked
package dev.lite.manager;

import org.jspecify.annotations.NullMarked;
