/** How drivers whose peers are strangers at first begin a connection: both sides prove that they know the cluster's secret. */
@NullMarked
package dev.lite.fabric.handshake;

import org.jspecify.annotations.NullMarked;
