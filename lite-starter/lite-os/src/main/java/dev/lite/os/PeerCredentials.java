package dev.lite.os;

/**
 * The process at the other end of a Unix socket, as the kernel recorded it when the connection was made.
 *
 * @param pid the process id
 * @param uid its effective user id
 * @param gid its effective group id
 */
public record PeerCredentials(int pid, int uid, int gid) {}
