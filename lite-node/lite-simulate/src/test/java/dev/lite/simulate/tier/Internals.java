package dev.lite.simulate.tier;

import java.lang.reflect.Field;
import org.jspecify.annotations.Nullable;

/** Private fields of the tier: to set counters just below their limits, and to take a dead process's memory away. */
final class Internals {
    private Internals() {}

    /**
     * The value of a field.
     *
     * @throws IllegalStateException when the class no longer has it: the simulation then needs a change, too
     */
    static Object get(Object owner, String name) {
        Object value = getOrNull(owner, name);
        if (value == null) {
            throw new IllegalStateException(owner.getClass() + " has no value in its field " + name);
        }
        return value;
    }

    /** Sets a field that is not final. */
    static void set(Object owner, String name, int value) {
        try {
            Field field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true);
            field.setInt(owner, value);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(owner.getClass() + " has no field " + name, e);
        }
    }

    /** The value of a field that may be null. */
    static @Nullable Object getOrNull(Object owner, String name) {
        try {
            Field field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(owner);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(owner.getClass() + " has no field " + name, e);
        }
    }
}
