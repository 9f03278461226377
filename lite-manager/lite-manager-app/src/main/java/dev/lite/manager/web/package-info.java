/**
 * The manager's interface for people and programs: REST below {@code /api}, server-sent events, the OpenAPI page, and who may
 * use them. It reads what the cluster's directory says and puts acts there as orders, so any manager answers alike, whichever
 * leads.
 */
@NullMarked
package dev.lite.manager.web;

import org.jspecify.annotations.NullMarked;
