package dev.lite.tier.session;

/**
 * A session as an operator sees it.
 *
 * @param id the session's number at this node; never reused while the node runs
 * @param pid the application's process id, as this process sees it
 * @param uid the application's user id
 * @param principal the application's principal
 * @param application the application's own name
 * @param handles the number of its handles
 */
public record SessionInfo(long id, int pid, int uid, String principal, String application, int handles) {}
