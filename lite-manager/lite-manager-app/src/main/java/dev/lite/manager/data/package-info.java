/** The manager as an application: its session with a node. */
@NullMarked
package dev.lite.manager.data;

import org.jspecify.annotations.NullMarked;
