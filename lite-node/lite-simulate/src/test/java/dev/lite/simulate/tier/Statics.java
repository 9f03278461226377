package dev.lite.simulate.tier;

import dev.lite.os.InFlight;
import dev.lite.os.RawMemory;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What the tier keeps in static fields, that is for the whole process: each history begins with it as a new process does.
 * Otherwise a history would depend on those before it.
 */
public final class Statics {
    private static final int SLOTS = 1024 + 256;
    private static final int SLOT_SHIFT = 7;

    private Statics() {}

    /** As at the start of a process. */
    public static void reset() {
        Arrays.fill((Object[]) get(InFlight.class, "OWNERS"), null);
        ((AtomicInteger) get(InFlight.class, "NUMBERS")).set(0);
        long slots = (long) get(InFlight.class, "SLOTS");
        for (int i = 0; i < SLOTS; i++) {
            RawMemory.putLong(slots + ((long) i << SLOT_SHIFT), 0);
        }
    }

    private static Object get(Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(owner + " has no field " + name, e);
        }
    }
}
