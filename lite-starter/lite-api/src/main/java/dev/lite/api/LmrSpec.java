package dev.lite.api;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Describes the LMR that {@link LtMemory#malloc} creates. Start with {@link #of(long)}; every {@code with} method returns a changed
 * copy. Immutable.
 *
 * @param size the size in bytes, at least 1; limited by the node's configuration and free memory
 * @param name the cluster-wide name, or null for an anonymous LMR; at most {@value #NAME_BYTES_MAX} bytes of UTF-8
 * @param placement which nodes store the bytes
 * @param defaultPermissions the permissions of every principal without a grant of its own; never {@link Permission#MASTER}
 * @param lifetime when the LMR is freed if no master frees it
 */
public record LmrSpec(
        long size, @Nullable String name, Placement placement, Set<Permission> defaultPermissions, Lifetime lifetime) {

    /** Upper limit of a name, in bytes of UTF-8. */
    public static final int NAME_BYTES_MAX = 512;

    /**
     * Checks the values as far as that is possible without a node.
     *
     * @throws IllegalArgumentException when the size is not positive, the name is invalid (see {@link #checkName}), or the default
     *     permissions contain {@link Permission#MASTER}
     */
    public LmrSpec {
        if (size <= 0) {
            throw new IllegalArgumentException("LMR size is %d bytes; it must be at least 1".formatted(size));
        }
        if (name != null) {
            checkName(name);
        }
        Objects.requireNonNull(placement, "placement");
        Objects.requireNonNull(lifetime, "lifetime");
        defaultPermissions = Permission.copyOf(defaultPermissions, "defaultPermissions");
        if (defaultPermissions.contains(Permission.MASTER)) {
            throw new IllegalArgumentException(
                    "the default permissions contain MASTER; grant MASTER to each principal by its name");
        }
    }

    /**
     * An anonymous LMR of {@code size} bytes on this session's node. Other principals have no permission, and it is freed when the
     * session ends.
     */
    public static LmrSpec of(long size) {
        return new LmrSpec(size, null, Placement.local(), EnumSet.noneOf(Permission.class), Lifetime.SESSION);
    }

    /**
     * With this name and {@link Lifetime#UNTIL_FREED}. For another lifetime call {@link #withLifetime} afterwards.
     */
    public LmrSpec withName(String newName) {
        checkName(newName);
        return new LmrSpec(size, newName, placement, defaultPermissions, Lifetime.UNTIL_FREED);
    }

    /** With this placement. */
    public LmrSpec withPlacement(Placement newPlacement) {
        return new LmrSpec(size, name, newPlacement, defaultPermissions, lifetime);
    }

    /** With these permissions for every principal without a grant of its own. */
    public LmrSpec withDefaultPermissions(Permission... permissions) {
        return new LmrSpec(
                size,
                name,
                placement,
                Permission.copyOf(Arrays.asList(Objects.requireNonNull(permissions, "permissions")), "permissions"),
                lifetime);
    }

    /** With this lifetime. */
    public LmrSpec withLifetime(Lifetime newLifetime) {
        return new LmrSpec(size, name, placement, defaultPermissions, newLifetime);
    }

    /**
     * Checks the name of an LMR.
     *
     * @throws IllegalArgumentException when it is blank, is longer than {@value #NAME_BYTES_MAX} bytes of UTF-8, contains a
     *     control character, or is no valid Unicode
     */
    public static void checkName(String name) {
        Names.require("the LMR name", "name", name, NAME_BYTES_MAX);
    }
}
