package dev.lite.testing;

import java.lang.reflect.Field;

/** Looks into objects for what no interface shows, to bring about rare states. */
public final class Inside {
    private Inside() {}

    /** The value of a private field of an object's class. */
    public static <T> T field(Object object, String name, Class<T> type) {
        try {
            Field field = object.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return type.cast(field.get(object));
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("%s has no field %s".formatted(object.getClass(), name), e);
        }
    }

    /** Sets a field of an object's class; also a final one, unless the class is a record. */
    public static void set(Object object, String name, Object value) {
        try {
            Field field = object.getClass().getDeclaredField(name);
            field.setAccessible(true);
            field.set(object, value);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("%s has no field %s".formatted(object.getClass(), name), e);
        }
    }
}
