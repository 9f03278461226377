/**
 * Quality of service (paper §6.2): a policy, and its enforcement where operations are posted. A session asks its {@link
 * dev.lite.tier.Admission} before an operation; transfers through a fabric also pass a {@link dev.lite.tier.qos.LinkWindow}.
 */
@NullMarked
package dev.lite.tier.qos;

import org.jspecify.annotations.NullMarked;
