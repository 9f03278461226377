package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LtMemory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;

/** Sessions whose memory does something before each call. */
final class WatchedMemory {
    private WatchedMemory() {}

    /**
     * Another view of a session.
     *
     * @param before gets the name of the method of {@link LtMemory} that is called; what it throws, the caller gets in place of the call
     */
    static Lite of(Lite lite, Consumer<String> before) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    before.accept(method.getName());
                    try {
                        return method.invoke(lite.memory(), arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }
}
