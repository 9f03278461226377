package dev.lite.api;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/** What a principal may do with an LMR (paper §4.1). A set of permissions is sent as an int of {@link #bit()}s. */
public enum Permission {
    /** {@code LT_read}. */
    READ(1),
    /** {@code LT_write}. */
    WRITE(2),
    /** {@code LT_fetch-add} and {@code LT_test-set}. */
    ATOMIC(4),
    /** Free and move the LMR, and grant permissions, including {@code MASTER}. The creator of an LMR is its first master. */
    MASTER(8);

    private final int bit;

    Permission(int bit) {
        this.bit = bit;
    }

    /** This permission's bit in a set that is sent as an int. */
    public int bit() {
        return bit;
    }

    /**
     * Copies a set.
     *
     * @param parameter the parameter that it is, for the message about a null
     */
    static Set<Permission> copyOf(Collection<Permission> permissions, String parameter) {
        EnumSet<Permission> copy = EnumSet.noneOf(Permission.class);
        for (Permission permission : Objects.requireNonNull(permissions, parameter)) {
            copy.add(Objects.requireNonNull(permission, parameter));
        }
        return Collections.unmodifiableSet(copy);
    }

    /** The set of these permissions; a duplicate counts once. */
    static Set<Permission> setOf(Permission first, Permission... more) {
        Set<Permission> set = EnumSet.of(Objects.requireNonNull(first, "first"));
        set.addAll(copyOf(Arrays.asList(Objects.requireNonNull(more, "more")), "more"));
        return set;
    }

    /** Returns the bits of a set. */
    public static int toBits(Collection<Permission> permissions) {
        int bits = 0;
        for (Permission permission : permissions) {
            bits |= permission.bit();
        }
        return bits;
    }

    /**
     * Returns the set of the given bits.
     *
     * @throws IllegalArgumentException when a bit stands for no permission
     */
    public static Set<Permission> fromBits(int bits) {
        EnumSet<Permission> permissions = EnumSet.noneOf(Permission.class);
        for (Permission permission : values()) {
            if ((bits & permission.bit()) != 0) {
                permissions.add(permission);
            }
        }
        if (toBits(permissions) != bits) {
            throw new IllegalArgumentException("permission bits 0x%x contain unknown ones; known are 0x%x"
                    .formatted(bits, toBits(EnumSet.allOf(Permission.class))));
        }
        return permissions;
    }
}
