package dev.lite.cluster.process;

import dev.lite.os.Linux;
import dev.lite.os.UserNamespace;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Collection;
import java.util.EnumSet;
import java.util.OptionalInt;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Checks before a process trusts its ZooKeeper, and the files with its secrets. */
public final class Trust {
    private static final Logger log = LoggerFactory.getLogger(Trust.class);
    private static final int ROOT_UID = 0;
    private static final Set<String> SECRETS = Set.of("secret", "password", "token", "node-token");
    private static final Set<PosixFilePermission> WRITE =
            EnumSet.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);

    private Trust() {}

    /**
     * Checks that a process may use this ZooKeeper. A client that can write to ZooKeeper can add nodes and change permissions. So a
     * process without a password starts only if ZooKeeper is on this host, or if the configuration allows an open one.
     *
     * @param connectString of ZooKeeper
     * @param hasUser whether the process is a user of ZooKeeper
     * @param open whether the configuration allows a ZooKeeper without a password
     * @throws StartException if the process must not start
     */
    public static void requireUser(String connectString, boolean hasUser, boolean open) {
        if (hasUser) {
            return;
        }
        if (!open && !isLoopback(connectString)) {
            throw new StartException(
                    "lite.cluster.zookeeper is \"%s\", and this process is no user of ZooKeeper (lite.cluster.auth): everybody who reaches ZooKeeper could add nodes and change permissions"
                            .formatted(connectString),
                    "Set lite.cluster.auth.password-file, the same password for all processes of the cluster; or lite.cluster.auth.open to true if nobody else reaches ZooKeeper.",
                    null);
        }
        log.warn(
                "everybody who reaches ZooKeeper at {} may add nodes and change permissions: lite.cluster.auth.password-file is not set",
                connectString);
    }

    private static boolean isLoopback(String connectString) {
        int path = connectString.indexOf('/');
        String servers = path < 0 ? connectString : connectString.substring(0, path);
        for (String server : servers.split(",", -1)) {
            int colon = server.lastIndexOf(':');
            String host = (colon < 0 || server.endsWith("]") ? server : server.substring(0, colon))
                    .strip()
                    .replaceAll("[\\[\\]]", "");
            if (!host.equalsIgnoreCase("localhost") && !isLoopbackLiteral(host)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isLoopbackLiteral(String host) {
        try {
            return InetAddress.ofLiteral(host).isLoopbackAddress();
        } catch (IllegalArgumentException name) {
            return false; // a name may mean another host tomorrow
        }
    }

    /**
     * Warns of secrets among the options of a command line, which every user of the host can read.
     *
     * @param names the names of the given properties
     */
    public static void checkCommandLine(Collection<String> names) {
        for (String name : names) {
            if (name.startsWith("lite.") && SECRETS.contains(name.substring(name.lastIndexOf('.') + 1))) {
                log.warn("{} is on the command line, which every user of this host can read: use a file", name);
            }
        }
    }

    /**
     * Checks the mode and the owner of a file with a secret. Warns if every user may read it, because in a container that may be meant.
     *
     * @param property the property with its path, for messages
     * @throws StartException if other users may write to it, or one of them owns it
     */
    public static void checkSecretFile(String property, Path file) {
        checkMode(property, file);
        if (Linux.unsupported().isEmpty()) {
            checkOwner(property, file, UserNamespace.ownUid(), UserNamespace.uidOfOthers());
        }
    }

    private static void checkMode(String property, Path file) {
        Set<PosixFilePermission> mode;
        try {
            mode = Files.getPosixFilePermissions(file);
        } catch (IOException | UnsupportedOperationException unreadable) {
            return; // its reader reports it
        }
        if (mode.stream().anyMatch(WRITE::contains)) {
            throw new StartException(
                    "other users may write to %s (%s), so they could choose the secret".formatted(file, property),
                    "chmod 600 " + file,
                    null);
        }
        if (mode.contains(PosixFilePermission.OTHERS_READ)) {
            log.warn("every user of this host may read the secret in {} ({}): chmod 600 {}", file, property, file);
        }
    }

    /**
     * Checks the owner, who may always change the mode.
     *
     * @param ownUid the user id of this process
     * @param others the user id of all users that its namespace does not have; in a container that may be root of the host
     */
    static void checkOwner(String property, Path file, int ownUid, OptionalInt others) {
        int owner;
        try {
            owner = (int) Files.getAttribute(file, "unix:uid");
        } catch (IOException unreadable) {
            return; // its reader reports it
        }
        if (owner == ROOT_UID || owner == ownUid) {
            return;
        }
        if (others.isPresent() && owner == others.getAsInt()) {
            log.warn(
                    "the owner of {} ({}) is a user that the user namespace of this process does not have, and could choose the secret",
                    file,
                    property);
            return;
        }
        throw new StartException(
                "user id %d owns %s (%s), so it could choose the secret; the owner must be this user, %d, or root"
                        .formatted(owner, file, property, ownUid),
                "chown %d %s".formatted(ownUid, file),
                null);
    }
}
