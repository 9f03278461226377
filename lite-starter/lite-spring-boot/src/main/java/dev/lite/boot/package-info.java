/**
 * Spring Boot auto-configuration of a session with this host's LITE node: the beans {@link dev.lite.api.Lite}, {@link
 * dev.lite.api.LtMemory}, {@link dev.lite.api.LtRpc}, {@link dev.lite.api.LtSync} and {@link dev.lite.boot.LtRpcTemplate}, methods
 * that serve functions ({@link dev.lite.boot.LtRpcHandler}), the properties {@code lite.client.*}, a failure analyzer, and a
 * health contributor that is there only with the module {@code spring-boot-health}.
 *
 * <p>Every bean backs off when the application defines its own.
 */
@NullMarked
package dev.lite.boot;

import org.jspecify.annotations.NullMarked;
