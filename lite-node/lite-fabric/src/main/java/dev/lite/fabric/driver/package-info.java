/**
 * The code that all drivers share. {@link dev.lite.fabric.driver.Connections} manages each connection of a fabric, from connect or
 * accept to {@code disconnected}. A driver adds its transport (a {@link dev.lite.fabric.driver.Connector}), its posts (a
 * {@link dev.lite.fabric.driver.DriverEndpoint}) and its polling.
 *
 * <p>Drivers whose peers are on other hosts also share the {@linkplain dev.lite.fabric.driver.LaneHandshake handshake}, in which both sides
 * prove that they know the cluster's secret, the {@linkplain dev.lite.fabric.driver.LaneConnector assembly} of a connection from several
 * lanes, and {@linkplain dev.lite.fabric.driver.Waiting waiting} for descriptors. Only drivers use this package.
 */
@NullMarked
package dev.lite.fabric.driver;

import org.jspecify.annotations.NullMarked;
