/**
 * The channels of a node's applications: calls between two applications that pass no node. On one host the nodes make a channel's memory,
 * between hosts a TCP connection. They pass it on, and tell both applications when the channel has ended. No node uses the memory or the
 * connection afterwards. See {@link
 * dev.lite.session.channel} for what the applications do with it.
 *
 * <p><b>Opening.</b> The caller's node asks the server's node (OPEN_CHANNEL) and passes the memory's descriptor over the fabric; or both
 * open a {@linkplain dev.lite.fabric.FabricEndpoint#openStream stream}. The server's node offers the channel to the application that serves the function. When that one has taken it, the node ends the
 * application's waiting receives, so that its threads notice the channel, and tells the caller's node (CHANNEL_TAKEN). No control
 * request waits for an application: two that did would hold up the locks and calls of both nodes.
 *
 * <p><b>End.</b> A channel has two {@linkplain dev.lite.tier.channel.ChannelEnd ends}. Each node keeps the end of its own
 * application; a node to which both applications are attached keeps both. When one end is closed, its node sends END_CHANNEL to the
 * other node, which closes the other end. Each node tells its own application, once. When the connection between the nodes is lost,
 * both nodes close their ends of all channels that used it. END_CHANNEL may arrive before OPEN_CHANNEL; so the server's node remembers
 * the tags of unknown channels, and refuses them later.
 *
 * <p><b>Retirement.</b> If the function is closed or gets another server, nothing is wrong with the calls under way. So the caller's
 * application is only asked to close the channel when they have ended.
 */
@NullMarked
package dev.lite.tier.channel;

import org.jspecify.annotations.NullMarked;
