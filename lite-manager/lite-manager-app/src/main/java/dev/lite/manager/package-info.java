/** The manager process: it takes part in the election of the cluster's leader, watches the membership, and answers people. */
@NullMarked
package dev.lite.manager;

import org.jspecify.annotations.NullMarked;
