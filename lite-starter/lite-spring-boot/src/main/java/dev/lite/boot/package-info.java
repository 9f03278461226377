/**
 * Spring Boot auto-configuration of a session with this host's LITE node. It contributes:
 *
 * <ul>
 *   <li>the beans {@link dev.lite.api.Lite}, {@link dev.lite.api.LtMemory}, {@link dev.lite.api.LtRpc}, {@link dev.lite.api.LtSync}
 *       and {@link dev.lite.boot.LtRpcTemplate}, each unless the application defines its own;
 *   <li>bean methods that serve functions ({@link dev.lite.boot.LtRpcHandler}); client interfaces, injected regions and methods under
 *       a lock are in the packages {@code client}, {@code region} and {@code lock};
 *   <li>{@link dev.lite.boot.AttachOptionsCustomizer}, for options without a property;
 *   <li>the properties {@code lite.client.*} and a failure analyzer;
 *   <li>a health contributor, if the module {@code spring-boot-health} is on the class path.
 * </ul>
 */
@NullMarked
package dev.lite.boot;

import org.jspecify.annotations.NullMarked;
