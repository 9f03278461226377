/** What drivers share: the handshake of strangers that prove to know the cluster's secret, and waiting on descriptors. */
@NullMarked
package dev.lite.fabric.driver;

import org.jspecify.annotations.NullMarked;
