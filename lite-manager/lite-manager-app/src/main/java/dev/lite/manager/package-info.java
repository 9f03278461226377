/** The manager process: it joins the leader election, watches the membership, and serves the REST interface. */
@NullMarked
package dev.lite.manager;

import org.jspecify.annotations.NullMarked;
