package dev.lite.os;

import java.util.Map;

/** The error numbers that callers distinguish. They are the same on x86-64 and aarch64. */
public final class Errno {
    /** Not permitted. */
    public static final int EPERM = 1;
    /** No such file or directory. */
    public static final int ENOENT = 2;
    /** No such process. */
    public static final int ESRCH = 3;
    /** Interrupted by a signal. */
    public static final int EINTR = 4;
    /** Not an open descriptor, or a closed one. */
    public static final int EBADF = 9;
    /** Try again: not ready, or the timeout of the call has passed. */
    public static final int EAGAIN = 11;
    /** No memory. */
    public static final int ENOMEM = 12;
    /** Permission denied. */
    public static final int EACCES = 13;
    /** An address is not mapped. */
    public static final int EFAULT = 14;
    /** The file exists. */
    public static final int EEXIST = 17;
    /** Invalid argument. */
    public static final int EINVAL = 22;
    /** No space left. */
    public static final int ENOSPC = 28;
    /** The peer has closed the connection. */
    public static final int EPIPE = 32;
    /** No such system call. */
    public static final int ENOSYS = 38;
    /** The message is too long. */
    public static final int EMSGSIZE = 90;
    /** The address is in use. */
    public static final int EADDRINUSE = 98;
    /** A link that must not be followed, or too many. */
    public static final int ELOOP = 40;
    /** Not an address of this host. */
    public static final int EADDRNOTAVAIL = 99;
    /** The peer disconnected before the connection was accepted. */
    public static final int ECONNABORTED = 103;
    /** The peer reset the connection. */
    public static final int ECONNRESET = 104;
    /** Not connected. */
    public static final int ENOTCONN = 107;
    /** Timed out. */
    public static final int ETIMEDOUT = 110;
    /** Connection refused: no server listens. */
    public static final int ECONNREFUSED = 111;
    /** A connection attempt is in progress. */
    public static final int EINPROGRESS = 115;

    private static final Map<Integer, String> NAMES = Map.ofEntries(
            Map.entry(EPERM, "EPERM"),
            Map.entry(ENOENT, "ENOENT"),
            Map.entry(ESRCH, "ESRCH"),
            Map.entry(EINTR, "EINTR"),
            Map.entry(5, "EIO"),
            Map.entry(6, "ENXIO"),
            Map.entry(EBADF, "EBADF"),
            Map.entry(EAGAIN, "EAGAIN"),
            Map.entry(ENOMEM, "ENOMEM"),
            Map.entry(EACCES, "EACCES"),
            Map.entry(EFAULT, "EFAULT"),
            Map.entry(16, "EBUSY"),
            Map.entry(EEXIST, "EEXIST"),
            Map.entry(19, "ENODEV"),
            Map.entry(20, "ENOTDIR"),
            Map.entry(21, "EISDIR"),
            Map.entry(EINVAL, "EINVAL"),
            Map.entry(23, "ENFILE"),
            Map.entry(24, "EMFILE"),
            Map.entry(26, "ETXTBSY"),
            Map.entry(27, "EFBIG"),
            Map.entry(ENOSPC, "ENOSPC"),
            Map.entry(29, "ESPIPE"),
            Map.entry(30, "EROFS"),
            Map.entry(EPIPE, "EPIPE"),
            Map.entry(36, "ENAMETOOLONG"),
            Map.entry(ENOSYS, "ENOSYS"),
            Map.entry(ELOOP, "ELOOP"),
            Map.entry(75, "EOVERFLOW"),
            Map.entry(88, "ENOTSOCK"),
            Map.entry(EMSGSIZE, "EMSGSIZE"),
            Map.entry(91, "EPROTOTYPE"),
            Map.entry(95, "EOPNOTSUPP"),
            Map.entry(97, "EAFNOSUPPORT"),
            Map.entry(EADDRINUSE, "EADDRINUSE"),
            Map.entry(EADDRNOTAVAIL, "EADDRNOTAVAIL"),
            Map.entry(101, "ENETUNREACH"),
            Map.entry(ECONNABORTED, "ECONNABORTED"),
            Map.entry(ECONNRESET, "ECONNRESET"),
            Map.entry(105, "ENOBUFS"),
            Map.entry(106, "EISCONN"),
            Map.entry(ENOTCONN, "ENOTCONN"),
            Map.entry(109, "ETOOMANYREFS"),
            Map.entry(ETIMEDOUT, "ETIMEDOUT"),
            Map.entry(ECONNREFUSED, "ECONNREFUSED"),
            Map.entry(113, "EHOSTUNREACH"),
            Map.entry(EINPROGRESS, "EINPROGRESS"),
            Map.entry(122, "EDQUOT"));

    private Errno() {}

    /** The symbol of an error number, or {@code errno N} for a rare one. */
    public static String name(int errno) {
        return NAMES.getOrDefault(errno, "errno " + errno);
    }
}
