package dev.lite.tier.session;

/**
 * A session as an operator sees it.
 *
 * @param id this server's number for it, never used again
 * @param pid the application's process, as its kernel numbers it for this process
 * @param uid its user
 * @param principal who it was found to be
 * @param application what it calls itself
 * @param handles how many handles it has
 */
public record SessionInfo(long id, int pid, int uid, String principal, String application, int handles) {}
