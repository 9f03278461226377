/**
 * The manager's web interface: REST below {@code /api}, server-sent events, the OpenAPI page, and access control. It reads
 * the cluster's directory and writes changes there as orders, so all managers behave alike, leading or not.
 *
 * <p>One room, although it has more than 20 classes: half of them are small records for JSON, used by the controllers only.
 */
@NullMarked
package dev.lite.manager.web;

import org.jspecify.annotations.NullMarked;
