/**
 * The command line {@code lite}. It uses a manager's REST interface, so it needs no access to ZooKeeper, only the manager's
 * token; {@code up} and {@code down} start and stop a cluster of processes on this machine.
 */
@NullMarked
package dev.lite.cli;

import org.jspecify.annotations.NullMarked;
