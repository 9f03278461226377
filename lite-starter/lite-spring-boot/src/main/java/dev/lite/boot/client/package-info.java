/**
 * Interfaces whose methods call functions, in the way of Spring's HTTP interface clients. An interface has {@link
 * dev.lite.boot.client.LtRpcClient}, and {@link dev.lite.boot.client.ImportLtRpcClients} makes beans of such interfaces.
 */
@NullMarked
package dev.lite.boot.client;

import org.jspecify.annotations.NullMarked;
