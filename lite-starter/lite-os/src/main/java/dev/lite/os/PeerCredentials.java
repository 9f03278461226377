package dev.lite.os;

/**
 * Who is at the other end of a Unix socket, as the kernel noted it when the connection was made.
 *
 * @param pid the process
 * @param uid its effective user
 * @param gid its effective group
 */
public record PeerCredentials(int pid, int uid, int gid) {}
