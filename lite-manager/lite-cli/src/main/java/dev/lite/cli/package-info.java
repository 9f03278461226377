/**
 * The command line {@code lite}. It asks a manager by REST, so it needs no ZooKeeper and no rights but the manager's token;
 * {@code up} and {@code down} start and stop a cluster of processes on this machine.
 */
@NullMarked
package dev.lite.cli;

import org.jspecify.annotations.NullMarked;
